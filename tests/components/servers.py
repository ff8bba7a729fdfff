"""Schedulers and workers as someone else starts them: processes of their own, which no run may end."""

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
SECONDS_TO_START = 60


class Servers:
    """One scheduler and its workers, in a folder for what they say; they end with the block.

    Parameters
    ----------
    security
        Options of certificates that all of them get.
    environment
        Variables that all of them get.
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
        """Of the scheduler."""
        return str(json.loads(self.file.read_bytes())["address"])

    @property
    def workers(self) -> dict[str, str]:
        """The addresses of workers that ever came, by the name that `--name` gave them."""
        found = re.findall(r"Register worker addr: (\S+) name: (\S+)", self.said("scheduler"))
        return {name: address for address, name in found}

    @property
    def stayed(self) -> bool:
        """Whether all that was started is still there, and no worker ever left."""
        is_alive = all(process.poll() is None for process in self.processes.values())
        return is_alive and "Remove worker" not in self.said("scheduler")

    def start_scheduler(self, host: str = "127.0.0.1", port: int = 0, within: Sequence[str] = ()) -> None:
        """Start the scheduler and wait until it has an address; `within` begins a command that runs it elsewhere."""
        self.file.unlink(missing_ok=True)
        place = ("--host", host, "--port", str(port), "--scheduler-file", str(self.file))
        self._start("scheduler", [*within, *_dask("scheduler"), *place, "--no-dashboard"], {})
        assert wait_until(self._has_address, SECONDS_TO_START), self.said("scheduler")

    def start_worker(
        self, name: str, *options: str, environment: Mapping[str, str] | None = None, within: Sequence[str] = ()
    ) -> None:
        """Start a worker of one thread; `name` is that of its log."""
        small = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self._start(name, [*within, *_dask("worker"), self.address, *small, *options], environment or {})

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many workers are there."""
        assert wait_until(lambda: len(self.workers) >= count, SECONDS_TO_START), self.said("scheduler")

    def kill(self, name: str) -> None:
        """End one at once."""
        self.processes[name].kill()
        self.processes[name].wait()

    def said(self, name: str) -> str:
        """What one has said."""
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
