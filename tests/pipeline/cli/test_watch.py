"""`pipeline status --watch` and `pipeline report --watch` follow a run until no process executes it."""

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from kernel_pipeline.cli.terminal import PlainConsole
from kernel_pipeline.cli.watch_view import watch_report, watch_status
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.run.report import write_report
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.lock import Holder
from tests.helpers.sweeps import entries_of, fail, forget, resume_here, run_here, smaller_config

ROUNDS = 3


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("finished")
    run_here(root, smaller_config())
    assert resume_here(root)[0] == 0
    return root


@pytest.fixture
def ledger(finished: Path) -> bytes:
    return (finished / "ledger.jsonl").read_bytes()


@pytest.fixture
def root(finished: Path, tmp_path: Path, ledger: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a run without its tables and the fits of one dataset, executed by a process that finishes it in time."""
    root = shutil.copytree(finished, tmp_path / "run")
    forget(root, "tables", *(name for name in entries_of(root) if name.startswith("fits/flowers/")))
    looks = iter(range(100))

    def holder(storage: LocalStorage) -> Holder | None:
        number = next(looks)
        if number == 2 * ROUNDS - 2:  # the state is shown and the lock is looked at in each round
            (root / "ledger.jsonl").write_bytes(ledger)
        return Holder("here", 1, "today") if number < 2 * ROUNDS else None

    monkeypatch.setattr(LocalStorage, "holder", holder)
    return root


def console(is_terminal: bool) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return PlainConsole(file=text, force_terminal=is_terminal, width=150), text


def test_the_state_is_shown_with_results_until_the_run_ends(root: Path) -> None:
    target, text = console(is_terminal=True)
    watch_status(target, LocalStorage(root), interval=0.0)
    shown = text.getvalue()
    assert "are left" in shown
    assert "Results so far" in shown
    assert "per minute" in shown
    assert shown.rstrip().endswith(f"The tables are in {root}/results.")


def test_without_a_terminal_a_state_is_printed_when_it_changes(root: Path) -> None:
    target, text = console(is_terminal=False)
    watch_status(target, LocalStorage(root), interval=0.0)
    assert text.getvalue().count("are left") == 1
    assert "\x1b" not in text.getvalue()


def test_failures_are_shown(root: Path) -> None:
    name = next(name for name in entries_of(root) if name.startswith("fits/"))
    plan = read_manifest(LocalStorage(root)).plan()
    assert plan
    fail(root, plan, name, "no memory")
    target, text = console(is_terminal=True)
    watch_status(target, LocalStorage(root), interval=0.0)
    assert "1 failed" in text.getvalue()
    assert f"{name}: failed: no memory" in text.getvalue()


def test_the_page_of_a_watched_run_reloads_itself_until_it_is_finished(root: Path, ledger: bytes) -> None:
    page = root / "report.html"
    assert not write_report(LocalStorage(root), is_watched=True).is_complete
    assert b'<meta http-equiv="refresh" content="10">' in page.read_bytes()
    target, text = console(is_terminal=False)
    (root / "ledger.jsonl").write_bytes(ledger)
    assert watch_report(target, LocalStorage(root), interval=0.0).is_complete
    assert b'http-equiv="refresh"' not in page.read_bytes()
    assert "until the run ends" in text.getvalue()
