"""`pipeline status --watch` and `pipeline report --watch` follow a run until no process executes it."""

import io
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from kernel_pipeline.cli import entry
from kernel_pipeline.cli.main import main
from kernel_pipeline.cli.stopping import EXIT_CODE
from kernel_pipeline.cli.terminal import PlainConsole
from kernel_pipeline.cli.watch_view import watch_report, watch_status
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.events import RunningBatch
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


def test_without_a_terminal_running_tasks_are_printed_now_and_then(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(100))

    def running(_: LocalStorage) -> list[RunningBatch]:
        return [RunningBatch(("fits/flowers/regression/unif/0",), float(next(seconds)), "3 passes")]

    monkeypatch.setattr("kernel_pipeline.cli.status.running_batches", running)
    target, text = console(is_terminal=False)
    watch_status(target, LocalStorage(root), interval=0.0)
    assert text.getvalue().count(": 3 passes") == 1, "only the time has changed"


@pytest.mark.parametrize(("interval", "times"), [(60.0, 2), (0.0, 4)])
def test_without_a_terminal_the_state_is_printed_again_after_a_while(
    root: Path, monkeypatch: pytest.MonkeyPatch, interval: float, times: int
) -> None:
    monkeypatch.setattr("kernel_pipeline.cli.watch_view.RUNNING_LINE_INTERVAL_S", interval)
    held = iter([True] * 3)  # the lock is looked at once per round, apart from what the state shows
    monkeypatch.setattr(LocalStorage, "holder", lambda _: None)
    monkeypatch.setattr("kernel_pipeline.cli.watch_view._while_running", lambda *_: held)
    target, text = console(is_terminal=False)
    watch_status(target, LocalStorage(root), interval=0.0)
    assert text.getvalue().count("are left") == times, "once more at the end"


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


def test_a_directory_that_a_new_run_is_about_to_create_is_waited_for(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            shutil.copytree(finished, tmp_path / "run")

    monkeypatch.setattr("time.sleep", sleep)
    done = CliRunner().invoke(main, ["status", str(tmp_path / "run"), "--watch"])
    assert done.exit_code == 0, done.output
    assert len(waits) == 3
    assert done.stdout.startswith(f"Waiting for a run in {tmp_path}/run.\n")
    assert "34 of 34 tasks are done" in done.stdout


@pytest.mark.parametrize("command", ["status", "report"])
def test_a_directory_without_a_run_is_refused_after_a_while(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.cli.watch_view.START_TIMEOUT_S", 0.3)
    done = CliRunner().invoke(main, [command, str(tmp_path / "none"), "--watch"])
    assert done.exit_code == RefusedError.exit_code
    assert f"{tmp_path}/none is not a run directory" in done.stderr


@pytest.mark.parametrize("command", ["status", "report"])
@pytest.mark.parametrize(
    "place", ["store.addresses.open_storage", "run.directory.is_run_directory", "run.manifest.read_manifest"]
)
def test_ctrl_c_ends_watching_quietly_at_any_time(
    command: str, place: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupt a command while it parses its arguments, while it waits for the run, and while it shows the state."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"kernel_pipeline.{place}", interrupted)
    monkeypatch.setattr("kernel_pipeline.cli.watch_view.is_run_directory", interrupted)
    done = CliRunner().invoke(main, [command, str(root), "--watch"])
    assert (done.exit_code, done.stderr) == (0, "")


class InterruptedImport:
    """A module whose import is interrupted by Ctrl-C."""

    def __getattr__(self, name: str) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [(["status", "run", "--watch"], 0, ""), (["run"], EXIT_CODE, "Stopped. The same command resumes the run.\n")],
)
def test_ctrl_c_is_handled_during_the_first_imports(
    arguments: list[str],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["pipeline", *arguments])
    monkeypatch.setitem(sys.modules, "kernel_pipeline.cli.main", InterruptedImport())
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, capfd.readouterr().err) == (code, message)
