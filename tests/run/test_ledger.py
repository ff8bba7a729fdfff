from pathlib import Path

import pytest

from pipeline.errors import RefusedError
from pipeline.ledger import Ledger
from pipeline.task import Finished


def entry(name: str, seconds: float = 1.0) -> Finished:
    return Finished(name=name, identity="i", digests={"k": "ab"}, result={"x": 0.1}, seconds=seconds, peak_memory=5)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.jsonl")


def test_what_is_appended_is_read_back(ledger: Ledger) -> None:
    assert ledger.read() == {}
    ledger.append(entry("a"))
    ledger.append(entry("b"))
    assert ledger.read() == {"a": entry("a"), "b": entry("b")}


def test_the_latest_line_counts(ledger: Ledger) -> None:
    ledger.append(entry("a", 1.0))
    ledger.append(entry("a", 2.0))
    assert ledger.read()["a"].seconds == 2.0


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_torn_last_line_counts_as_absent_and_is_cut_off_by_the_next(ledger: Ledger, cut: int) -> None:
    ledger.append(entry("a"))
    ledger.append(entry("b"))
    ledger.path.write_bytes(ledger.path.read_bytes()[:-cut])
    assert ledger.read() == {"a": entry("a")}
    ledger.append(entry("c"))
    assert ledger.read() == {"a": entry("a"), "c": entry("c")}


@pytest.mark.parametrize("garbage", [b"garbage", b"", b"{}", b'{"name": 1}', b"\xff\xfe"])
def test_garbage_in_the_middle_is_refused_with_its_line(ledger: Ledger, garbage: bytes) -> None:
    ledger.append(entry("a"))
    with ledger.path.open("ab") as file:
        file.write(garbage + b"\n")
    ledger.append(entry("b"))
    with pytest.raises(RefusedError, match="line 2 is not a ledger line"):
        ledger.read()


def test_a_number_that_json_cannot_hold_is_an_error_and_leaves_the_ledger_whole(ledger: Ledger) -> None:
    ledger.append(entry("a"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        ledger.append(entry("b", float("nan")))
    assert ledger.read() == {"a": entry("a")}
