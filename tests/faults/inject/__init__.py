"""Runs in which something goes wrong on command; `sitecustomize.py` here does it, inside the processes of the run."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import psutil

from tests.faults.harness import assert_same, lines, strays, wait_until
from tests.helpers.few_figures import MAIN

ALWAYS = 1_000_000
TASK = "kernel_pipeline.run.worker:run_tasks"
LEDGER = "kernel_pipeline.store.ledger:Ledger.append"
CHUNK = "kernel_pipeline.store.arrays:RunStore.write_chunk"
TRIALS = "kernel_pipeline.store.arrays:RunStore.write_trials"
FILE = "kernel_pipeline.store.files:write_whole"
FLUSH = "kernel_pipeline.store.files:os.fsync"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong in a function of a run."""

    at: str
    """As module:function, or module: alone for its import."""
    do: Literal["kill", "exit", "stop", "kill the driver", "raise", "sleep", "wait", "hog", "tear"]
    of: str = ""
    """What the arguments of a call have to name: a part of a task's name, a key or a path."""
    process: Literal["worker", "driver"] = "worker"
    first: int = 1
    """The first call that goes wrong, of those that `of` is about, over all processes."""
    times: int = 1
    after: bool = False
    """Whether the function does its work before it goes wrong."""
    seconds: float = 0.0
    error: str = ""
    size: int = 0
    """The bytes of memory that a hog holds while it waits."""


def faulty(faults: Sequence[Fault], notes: Path) -> dict[str, str]:
    """The environment of processes that come to grief, which leave word for each other in a folder."""
    here = Path(__file__).parent
    notes.mkdir(exist_ok=True)
    plan = {"notes": str(notes), "faults": [asdict(fault) for fault in faults]}
    return {"PYTHONPATH": os.pathsep.join((str(here), str(here.parents[2]))), "FAULT": json.dumps(plan)}


class FaultyRun:
    """A command whose processes come to grief; what is left of them when its block ends is killed."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path,
        faults: Sequence[Fault] = (),
        notes: Path | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
    ) -> None:
        """Start the command; `limits` are those of the system, by their numbers in `resource`."""

        def prepare() -> None:
            # A shell lets what it runs in the background ignore Ctrl-C; a run has to heed it there too.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for kind, most in (limits or {}).items():
                resource.setrlimit(kind, (most, most))

        self.notes = notes or cwd / "notes"
        self.process = subprocess.Popen(
            [sys.executable, "-c", MAIN, *map(str, arguments)],
            cwd=cwd,
            env=os.environ | faulty(faults, self.notes) | dict(environment or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=prepare,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.left():
            process.kill()
        self.process.communicate()

    def end(self, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Wait for the end of the command and of all that it started; too late is an error."""
        output, errors = self.process.communicate(timeout=seconds)
        assert wait_until(lambda: not self.left(), 10), self.left()
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, output, errors)

    def left(self) -> list[psutil.Process]:
        """The processes that the command has started, and itself, that still live."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def workers(self) -> list[psutil.Process]:
        """The worker processes; the driver starts the one that they are forked from."""
        try:
            return [worker for child in psutil.Process(self.process.pid).children() for worker in child.children()]
        except psutil.Error:
            return []

    def calls(self, number: int = 0) -> int:
        """How many calls there were that a fault is about."""
        return len(list(self.notes.glob(f"{number}-*")))

    def waits(self) -> bool:
        """Whether a process waits, as a fault told it."""
        return (self.notes / "waiting").exists()

    def let_go(self) -> None:
        """Let what waits go on."""
        (self.notes / "go").touch()

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return os.getsid(process.pid) == self.process.pid and process.status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, ProcessLookupError):
            return False


def run_with(
    *arguments: str | Path,
    cwd: Path,
    faults: Sequence[Fault] = (),
    notes: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[FaultyRun, subprocess.CompletedProcess[str]]:
    """Run a command with faults to its end."""
    with FaultyRun(*arguments, cwd=cwd, faults=faults, notes=notes, environment=environment) as run:
        return run, run.end()


def assert_undisturbed(root: Path, undisturbed: Path) -> None:
    """All is as if nothing had gone wrong: the same tables, nothing left over, and no task done twice."""
    assert_same(root, undisturbed)
    assert strays(root) == []
    assert lines(root) == lines(undisturbed)
    assert set(lines(root).values()) == {1}
