"""Runs with injected faults; `sitecustomize.py` in this folder injects them into the processes of the run."""

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

from tests.faults.harness import assert_same, leftover_processes, lines, wait_until
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
    """A fault in a function of a run."""

    at: str
    """The function as `module:function`, or `module:` for the import of a module."""
    do: Literal["kill", "exit", "stop", "kill the driver", "raise", "sleep", "wait", "hog", "tear"]
    of: str = ""
    """Text that the arguments of a call must contain: a part of the name of a task, of a key or of a path."""
    process: Literal["worker", "driver"] = "worker"
    first: int = 1
    """Number of the first call that fails, among those that match `of` in all processes."""
    times: int = 1
    after: bool = False
    """Whether the function is executed before the fault."""
    seconds: float = 0.0
    error: str = ""
    size: int = 0
    """Bytes of memory that a `hog` uses while it waits."""


def faulty(faults: Sequence[Fault], notes: Path) -> dict[str, str]:
    """Return the environment of processes with faults, which record their calls in the folder `notes`."""
    here = Path(__file__).parent
    notes.mkdir(exist_ok=True)
    plan = {"notes": str(notes), "faults": [asdict(fault) for fault in faults]}
    return {"PYTHONPATH": os.pathsep.join((str(here), str(here.parents[2]))), "FAULT": json.dumps(plan)}


class FaultyRun:
    """A command whose processes have faults; processes that are left at the end of its block are killed."""

    def __init__(
        self,
        *arguments: str | Path,
        cwd: Path,
        faults: Sequence[Fault] = (),
        notes: Path | None = None,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
    ) -> None:
        """Start the command; `limits` maps the constants of `resource` to limits of its processes."""

        def prepare() -> None:
            # Shells make background commands ignore SIGINT; a run has to handle it there, too.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for kind, limit in (limits or {}).items():
                resource.setrlimit(kind, (limit, limit))

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
        """Wait until the command and all processes that it started have ended; raise an error on timeout."""
        output, errors = self.process.communicate(timeout=seconds)
        assert wait_until(lambda: not self.left(), 10), self.left()
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, output, errors)

    def left(self) -> list[psutil.Process]:
        """Return the live processes of the command, including itself."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def workers(self) -> list[psutil.Process]:
        """Return the worker processes; they are forked from a process that the driver starts."""
        try:
            return [worker for child in psutil.Process(self.process.pid).children() for worker in child.children()]
        except psutil.Error:
            return []

    def calls(self, number: int = 0) -> int:
        """Return the number of calls that matched a fault."""
        return len(list(self.notes.glob(f"{number}-*")))

    def waits(self) -> bool:
        """Return whether a process waits because of a fault."""
        return (self.notes / "waiting").exists()

    def release(self) -> None:
        """Let waiting processes continue."""
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
    """Run a command with faults until it ends."""
    with FaultyRun(*arguments, cwd=cwd, faults=faults, notes=notes, environment=environment) as run:
        return run, run.end()


def assert_undisturbed(root: Path, undisturbed: Path) -> None:
    """Check that the run equals one without faults: same tables, nothing left over, and no task executed twice."""
    assert_same(root, undisturbed)
    assert leftover_processes(root) == []
    assert lines(root) == lines(undisturbed)
    assert set(lines(root).values()) == {1}
