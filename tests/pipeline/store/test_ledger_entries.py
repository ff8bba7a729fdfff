"""Each kind of ledger entry is written as a line and read back, and similar but invalid lines are refused."""

import json
from typing import Any

import pytest

from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.ledger_entries import CleanedEntry, DataEntry, LedgerEntry, SweepEntry, TablesEntry
from kernel_pipeline.store.ledger_lines import format_line, parse_line
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.reports import TaskReport

INFO = DatasetInfo("wave", "f0", 30, 10, 300, ("gaussian(2^-3)",), 0)
INFO_JSON = {
    "name": "wave",
    "fingerprint": "f0",
    "rows": 30,
    "columns": 10,
    "entries": 300,
    "kernels": ["gaussian(2^-3)"],
    "left_out": 0,
    "notes": [],
}
FILES = {"config.toml": 'name = "small"\n', "environment.json": "{}\n"}
ENTRIES: dict[str, tuple[LedgerEntry, dict[str, Any]]] = {
    "a sweep": (
        SweepEntry(
            identity="s0", digests={"config.toml": "0badcafe:15"}, config='name = "small"\n', environment="{}\n"
        ),
        {"name": "sweep", "identity": "s0", "digests": {"config.toml": "0badcafe:15"}, "result": {"files": FILES}},
    ),
    "a sweep with arrays elsewhere": (
        SweepEntry(config=FILES["config.toml"], environment="{}\n", arrays="s3://bucket/small-1", run="ab12"),
        {"name": "sweep", "result": {"files": FILES, "arrays": "s3://bucket/small-1", "run": "ab12"}},
    ),
    "data": (
        DataEntry(info=INFO, identity="d0", digests={"data.zarr/wave/zarr.json": "0badcafe:7"}, seconds=0.25),
        {
            "name": "data/wave",
            "identity": "d0",
            "digests": {"data.zarr/wave/zarr.json": "0badcafe:7"},
            "result": {"outline": INFO_JSON},
            "seconds": 0.25,
        },
    ),
    "tables": (
        TablesEntry(identity="t0", digests={"results/rows.csv": "0badcafe:7"}, sweep="s0"),
        {"name": "tables", "identity": "t0", "digests": {"results/rows.csv": "0badcafe:7"}, "result": {"sweep": "s0"}},
    ),
    "what was cleaned": (
        CleanedEntry(datasets=("wave", "flowers")),
        {"name": "cleaned", "result": {"datasets": ["wave", "flowers"]}},
    ),
    "a task": (
        TaskReport(task="fits/wave/regression/unif/0", result_json=b'{"status": "ok"}', peak_memory=7, inputs="3:ab"),
        {"name": "fits/wave/regression/unif/0", "result": {"status": "ok"}, "peak_memory": 7, "inputs": "3:ab"},
    ),
    "a task that failed": (
        TaskReport(task="tiles/wave/0", failed="failed: it was too hot"),
        {"name": "tiles/wave/0", "failed": "failed: it was too hot"},
    ),
}


def line_of(values: dict[str, Any]) -> bytes:
    """Return the line that the ledger has for an entry, without the code of the package."""
    shared = {"name": "", "identity": "", "digests": {}, "result": {}, "seconds": 0.0, "peak_memory": 0, "failed": ""}
    body = json.dumps(shared | values)[:-1].encode()
    return body + b', "check": "' + content_digest(body).encode() + b'"}'


@pytest.mark.parametrize("kind", ENTRIES)
def test_every_kind_of_entry_has_its_line(kind: str) -> None:
    entry, values = ENTRIES[kind]
    assert format_line(entry) == line_of(values) + b"\n"
    assert parse_line(line_of(values)) == entry


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "a sweep by another name": ("a sweep", {"name": "sweep/x"}),
    "a sweep that failed": ("a sweep", {"failed": "failed: it was too hot"}),
    "a sweep with one more file": ("a sweep", {"result": {"files": FILES | {"lock": ""}}}),
    "a sweep without its environment": ("a sweep", {"result": {"files": {"config.toml": ""}}}),
    "a sweep whose config is not a text": ("a sweep", {"result": {"files": FILES | {"config.toml": 1}}}),
    "a sweep that wrote an array": ("a sweep", {"digests": {"gram.zarr/wave/zarr.json": "0badcafe:7"}}),
    "arrays at an address that is not a text": ("a sweep", {"result": {"files": FILES, "arrays": ["s3://bucket"]}}),
    "data of another dataset": ("data", {"name": "data/flowers"}),
    "data without a dataset": ("data", {"name": "data"}),
    "data of a dataset above": ("data", {"name": "data/..", "result": {"outline": INFO_JSON | {"name": ".."}}}),
    "data without sizes": ("data", {"result": {}}),
    "data with negative sizes": ("data", {"result": {"outline": INFO_JSON | {"rows": -1}}}),
    "data that wrote a table": ("data", {"digests": {"results/rows.csv": "0badcafe:7"}}),
    "data with inputs": ("data", {"inputs": "3:ab"}),
    "tables of no sweep": ("tables", {"result": {}}),
    "tables that wrote an array": ("tables", {"digests": {"gram.zarr/wave/zarr.json": "0badcafe:7"}}),
    "a dataset above was cleaned": ("what was cleaned", {"result": {"datasets": [".."]}}),
    "cleaning wrote a file": ("what was cleaned", {"digests": {"results/rows.csv": "0badcafe:7"}}),
    "a task by a name with an empty part": ("a task", {"name": "fits//0"}),
    "a task whose status is not a text": ("a task", {"result": {"status": 1}}),
    "a task whose trials are a list": ("a task", {"result": {"trials": []}}),
    "a task with a trial whose status is not a text": ("a task", {"result": {"trials": {"0": {"status": None}}}}),
    "a task with other inputs": ("a task", {"inputs": "many"}),
    "a task that wrote the lock": ("a task", {"digests": {"lock": "0badcafe:7"}}),
    "a digest that is none": ("a task", {"digests": {"gram.zarr/wave/zarr.json": "x"}}),
    "a time that is not a number": ("a task", {"seconds": "1"}),
    "a time that no float holds": ("a task", {"seconds": 10**400}),
    "memory that is not an integer": ("a task", {"peak_memory": 0.5}),
    "an identity that is not a text": ("a task", {"identity": None}),
    "one more member": ("a task", {"mine": 1}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_invalid_entries_are_not_ledger_lines(change: str) -> None:
    kind, values = CHANGES[change]
    assert parse_line(line_of(ENTRIES[kind][1] | values)) is None


def test_lines_of_earlier_versions_are_read() -> None:
    old = {key: value for key, value in INFO_JSON.items() if key != "notes"}
    assert parse_line(line_of({"name": "data/wave", "result": {"outline": old}})) == DataEntry(info=INFO)
    direct = parse_line(line_of({"name": "data/wave", "result": {"outline": old | {"direct": ["x"]}}}))
    assert isinstance(direct, DataEntry)
    assert direct.info.notes == ("columns 'x': their differences are computed directly",)


def test_a_state_has_each_kind_in_its_place_and_the_latest_of_each_name() -> None:
    state = LedgerState()
    assert [state.add(entry) for entry, _ in ENTRIES.values()] == [None, ENTRIES["a sweep"][0], *[None] * 5]
    assert state.sweep == ENTRIES["a sweep with arrays elsewhere"][0]
    assert (state.tables, state.cleaned) == (ENTRIES["tables"][0], ENTRIES["what was cleaned"][0])
    assert state.data == {"wave": ENTRIES["data"][0]}
    assert list(state.tasks) == ["fits/wave/regression/unif/0", "tiles/wave/0"]
    assert len(list(state.entries())) == 6
    copied = state.copy()
    copied.add(TaskReport(task="tiles/wave/1"))
    assert "tiles/wave/1" not in state.tasks


def test_failures_are_those_of_the_task_or_of_its_trials() -> None:
    trials = b'{"trials": {"0": {"status": "ok"}, "1": {"status": "failed: too hot"}, "2": {}}}'
    assert TaskReport(task="weights/wave/0", result_json=trials).failures == ["failed: too hot"]
    assert TaskReport(task="fits/wave/0", result_json=b'{"status": "failed: cold"}').failures == ["failed: cold"]
    assert TaskReport(task="tiles/wave/0", failed="failed: it died").failures == ["failed: it died"]
    assert TaskReport(task="tiles/wave/0").failures == []


def test_a_report_has_no_instance_dictionary() -> None:
    assert not hasattr(TaskReport(task="tiles/wave/0"), "__dict__")  # a driver holds hundreds of thousands
