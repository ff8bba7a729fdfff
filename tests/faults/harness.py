"""Helpers of the fault tests: a small sweep with every kind of task, and checks of a run after a fault."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import tomli_w
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.plan.follow_ups import open_ended_results
from kernel_pipeline.run.driver import Run
from kernel_pipeline.run.schedule import TaskBatch
from kernel_pipeline.run.worker import run_tasks
from tests.helpers.sweeps import pipeline

TINY: dict[str, Any] = {
    "name": "tiny",
    "baselines": False,
    "methods": ["unif", "alignf", "l2-krr", "each-kernel"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -12, "to": 0, "step": 6}, "l2-krr": {"from": 0, "to": 4, "step": 2}},
    "storage": {"tile": 40, "keep_combined": True},  # so that tests can damage the combined kernels
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 90,
            "kernels": [{"family": "gaussian", "log2_gamma": [-4, -1]}],
        },
        {
            "name": "columns",
            "source": "synthetic",
            "task": "regression",
            "rows": 60,
            "kernels": [{"family": "rank-one"}],
        },
    ],
}


def write_config(folder: Path, values: dict[str, Any] = TINY) -> Path:
    path = folder / "tiny.toml"
    path.write_text(tomli_w.dumps(values))
    return path


def tables(root: Path) -> dict[str, bytes]:
    """Return the content of every result table except the timings, which differ between runs."""
    return {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.name != "timings.csv"}


def lines(root: Path) -> Counter[str]:
    """Count the ledger lines of each name."""
    content = (root / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
    return Counter(json.loads(line)["name"] for line in content)


def finished_names(root: Path) -> set[str]:
    """Return the names that have a line in the ledger; there are none before the run starts."""
    return set(lines(root)) if (root / "ledger.jsonl").exists() else set()


def assert_same_and_tidy(root: Path, reference: Path) -> None:
    """Check that the tables equal those of the reference byte for byte, and that nothing is left over."""
    assert tables(root) == tables(reference)
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()
    assert leftover_processes(root) == []
    verified = pipeline("verify", root, cwd=root.parent)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def leftover_processes(root: Path) -> list[str]:
    """Return the processes that still have a file of the run open after a grace period."""
    wait_until(lambda: not _processes_with_open_files(root), 10)
    return _processes_with_open_files(root)


def _processes_with_open_files(root: Path) -> list[str]:
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        try:
            files = [file.path for file in process.open_files()]
        except psutil.Error:
            continue
        if process.pid != psutil.Process().pid and any(path.startswith(str(root)) for path in files):
            found.append(str(process))
    return found


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds, and return whether it does before the timeout."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def command(*arguments: str | Path) -> Result:
    """Run a command that starts no worker in this process, which takes a tenth of the time."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_same(root: Path, reference: Path) -> None:
    """Check the same as `assert_same_and_tidy`, except for leftover processes."""
    assert tables(root) == tables(reference)
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()
    verified = command("verify", root)
    assert verified.exit_code == 0, verified.output


def added(root: Path, reference: Path) -> dict[str, int]:
    """Count the lines by which this ledger exceeds the reference, by name and without those of the tables."""
    return dict(lines(root) - lines(reference) - Counter({"tables": 9}))


def rewrite_ledger(root: Path, keep: Callable[[str], bool]) -> None:
    """Keep only the ledger lines whose names satisfy `keep`."""
    ledger = root / "ledger.jsonl"
    kept = [line for line in ledger.read_bytes().splitlines(True) if keep(json.loads(line)["name"])]
    ledger.write_bytes(b"".join(kept))


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Return the modification time and the content of every file in a directory."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def flip(path: Path, place: int) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def swap(one: Path, other: Path) -> None:
    """Exchange the contents of two files."""
    first, second = one.read_bytes(), other.read_bytes()
    assert first != second
    one.write_bytes(second)
    other.write_bytes(first)


class CrashError(BaseException):
    """Simulated death of a process, which no code catches."""


@contextmanager
def no_workers(
    order: random.Random | None = None,
    max_batches: int | None = None,
    before_task: Callable[[int], None] = lambda _: None,
) -> Iterator[None]:
    """Execute the tasks of runs in this process, without workers.

    Parameters
    ----------
    order
        Source of a random order of the tasks, among those whose inputs are ready.
    max_batches
        Number of batches after which the process dies; None if it does not.
    before_task
        Function that is called before each batch with the number of finished batches.
    """

    def run_here(run: Run, todo: set[str]) -> None:
        schedule = run.schedule(todo)
        ready: list[TaskBatch] = []
        done = 0
        while True:
            while batch := schedule.take():
                ready.append(batch)
            if not ready:
                return
            batch = ready.pop(order.randrange(len(ready)) if order else 0)
            before_task(done)
            entries = run_tasks(batch, run.store.fresh_copy(), [run.inputs_of(task) for task in batch])
            done += 1
            if max_batches is not None and done > max_batches:
                raise CrashError  # what was just written has no ledger line
            run.record(entries)
            schedule.finish(batch, open_ended_results(batch, {entry.task: entry for entry in entries}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_run_tasks", run_here)
        patch.setattr("kernel_pipeline.cluster.warm_up", lambda *_: None)
        patch.setattr("kernel_pipeline.run.options.warm_up", lambda *_: None)
        yield
