"""What the fault tests share: a small sweep with every kind of task, and what must hold of a run afterwards."""

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
    "storage": {"tile": 40, "keep_combined": True},  # so that tests can damage them
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
    """Every result table but the one of seconds, which may differ from run to run."""
    return {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.name != "timings.csv"}


def lines(root: Path) -> Counter[str]:
    """How often the ledger has each name."""
    content = (root / "ledger.jsonl").read_bytes().split(b"\n")[:-1]
    return Counter(json.loads(line)["name"] for line in content)


def done_by(root: Path) -> set[str]:
    """The names of what is finished."""
    return set(lines(root)) if (root / "ledger.jsonl").exists() else set()


def assert_same_and_tidy(root: Path, reference: Path) -> None:
    """The tables of an undisturbed run to the byte, and nothing left over."""
    assert tables(root) == tables(reference)
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()
    assert strays(root) == []
    verified = pipeline("verify", root, cwd=root.parent)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def strays(root: Path) -> list[str]:
    """Processes that still work for a run: those with one of its files open, or that name it."""
    wait_until(lambda: not _strays(root), 10)
    return _strays(root)


def _strays(root: Path) -> list[str]:
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
    """Whether something comes to hold in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def command(*arguments: str | Path) -> Result:
    """A command that starts no worker, in this process: the same words and exit code, at a tenth of the cost."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def assert_same(root: Path, reference: Path) -> None:
    """As `assert_same_and_tidy`, but for processes: what a command that has ended well leaves in a directory."""
    assert tables(root) == tables(reference)
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()
    verified = command("verify", root)
    assert verified.exit_code == 0, verified.output


def added(root: Path, reference: Path) -> dict[str, int]:
    """How many lines more than another ledger this one has, by name, but for the tables'."""
    return dict(lines(root) - lines(reference) - Counter({"tables": 9}))


def rewrite_ledger(root: Path, keep: Callable[[str], bool]) -> None:
    """Leave out the lines of the ledger whose names are not to be kept."""
    ledger = root / "ledger.jsonl"
    kept = [line for line in ledger.read_bytes().splitlines(True) if keep(json.loads(line)["name"])]
    ledger.write_bytes(b"".join(kept))


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a directory: when it was last written, and what it holds."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def flip(path: Path, place: int) -> None:
    """Turn one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def swap(one: Path, other: Path) -> None:
    """Let two files change places."""
    first, second = one.read_bytes(), other.read_bytes()
    assert first != second
    one.write_bytes(second)
    other.write_bytes(first)


class CrashError(BaseException):
    """The end of a process, which nothing catches."""


@contextmanager
def no_workers(
    order: random.Random | None = None, most: int | None = None, before_task: Callable[[int], None] = lambda _: None
) -> Iterator[None]:
    """Let runs do their tasks in this process, in any order that stages allow; after so many, they die.

    Parameters
    ----------
    before_task
        What others do meanwhile, given how many tasks are done.
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
            if most is not None and done > most:
                raise CrashError  # what was just written has no line
            run.record(entries)
            schedule.finish(batch, open_ended_results(batch, {entry.task: entry for entry in entries}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "_run_tasks", run_here)
        patch.setattr("kernel_pipeline.cluster.warm_up", lambda *_: None)
        patch.setattr("kernel_pipeline.run.options.warm_up", lambda *_: None)
        yield
