"""External schedulers and workers: separate processes, which no run may stop."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.faults.harness import wait_until

SOURCE = Path(__file__).parents[2]
START_TIMEOUT_S = 60


class Servers:
    """A scheduler and its workers, with a folder for their logs; they are stopped at the end of the block.

    Parameters
    ----------
    security
        Options with certificates for all processes.
    environment
        Environment variables for all processes.
    """

    def __init__(
        self, folder: Path, *, security: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir()
        self.file = folder / "scheduler.json"
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folder, self._security = folder, security
        self._environment = {"PYTHONPATH": str(SOURCE), **(environment or {})}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in reversed(self.processes):
            self.kill(name)

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return str(json.loads(self.file.read_bytes())["address"])

    @property
    def workers(self) -> dict[str, str]:
        """Addresses of all workers that have connected, by the name given by `--name`."""
        found = re.findall(r"Register worker addr: (\S+) name: (\S+)", self.log_of("scheduler"))
        return {name: address for address, name in found}

    @property
    def is_intact(self) -> bool:
        """Whether all processes are still running, and no worker was ever removed."""
        is_alive = all(process.poll() is None for process in self.processes.values())
        return is_alive and "Remove worker" not in self.log_of("scheduler")

    def start_scheduler(self, host: str = "127.0.0.1", port: int = 0, within: Sequence[str] = ()) -> None:
        """Start the scheduler and wait until it has an address; `within` is the start of its command."""
        self.file.unlink(missing_ok=True)
        place = ("--host", host, "--port", str(port), "--scheduler-file", str(self.file))
        self._start("scheduler", [*within, *_dask("scheduler"), *place, "--no-dashboard"], {})
        assert wait_until(self._has_address, START_TIMEOUT_S), self.log_of("scheduler")

    def start_worker(
        self, name: str, *options: str, environment: Mapping[str, str] | None = None, within: Sequence[str] = ()
    ) -> None:
        """Start a worker with one thread; `name` is the name of its log."""
        small = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self._start(name, [*within, *_dask("worker"), self.address, *small, *options], environment or {})

    def wait_for_workers(self, count: int) -> None:
        """Wait until this number of workers have connected."""
        assert wait_until(lambda: len(self.workers) >= count, START_TIMEOUT_S), self.log_of("scheduler")

    def kill(self, name: str) -> None:
        """Kill a process."""
        self.processes[name].kill()
        self.processes[name].wait()

    def log_of(self, name: str) -> str:
        """Return the log of a process."""
        return (self._folder / f"{name}.log").read_text()

    def _has_address(self) -> bool:
        return self.file.exists() and self.file.read_bytes().endswith(b"}")

    def _start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [*command, *self._security],
                cwd=self._folder,
                env={**os.environ, **self._environment, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )


def _dask(kind: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "dask", kind)
