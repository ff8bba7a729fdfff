"""A task that waits before its write while its driver ends and another driver takes over the run directory."""

import copy
import signal
import subprocess
import time
from pathlib import Path

from tests.faults.harness import TINY, wait_until, write_config
from tests.faults.inject import ALWAYS, CHUNK, TASK, Fault
from tests.helpers.sweeps import start

HELD = Fault(CHUNK, "wait", of="gram.zarr wave/gram", seconds=120.0)
# Tasks are slow, so that the held task writes while others have yet to read what it writes.
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.3)
FAULTS = (HELD, SLOWER)
TILES = "tiles/wave/0"
CHANGED = copy.deepcopy(TINY)
CHANGED["dataset"][0]["kernels"] = [{"family": "gaussian", "log2_gamma": [-5, -2]}]
# Pause between two signals: a second one right after the first may count as the same request.
SECONDS_BETWEEN_SIGNALS = 1.5


class Scene:
    """A run directory and the cluster that its drivers use.

    Parameters
    ----------
    notes
        Folder in which the worker processes, which have `FAULTS`, record their calls.
    """

    def __init__(self, folder: Path, cluster: str, notes: Path) -> None:
        self.folder, self.root, self.notes, self._cluster = folder, folder / "run", notes, cluster

    def run(self, *options: str) -> subprocess.Popen[str]:
        """Start a driver."""
        return start("run", "tiny.toml", "--cluster", self._cluster, "--out", "run", *options, cwd=self.folder)

    def hold(self) -> subprocess.Popen[str]:
        """Start a driver, and wait until one of its tasks is about to write."""
        write_config(self.folder)
        driver = self.run()
        assert wait_until((self.notes / "waiting").exists, 90)
        return driver

    def release(self) -> None:
        """Let the held task write."""
        (self.notes / "go").touch()

    def accept_changes(self) -> subprocess.Popen[str]:
        """Start another driver in the same directory, with another config."""
        write_config(self.folder, CHANGED)
        return self.run("--accept-changes")

    def started(self) -> int:
        """Return the number of tasks that have started."""
        return len(list(self.notes.glob(f"{FAULTS.index(SLOWER)}-*")))


def end(process: subprocess.Popen[str], seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Wait until a command ends."""
    output, errors = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def stop_at_once(driver: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> None:
    """Stop a driver immediately: by SIGKILL, or by sending another signal twice."""
    driver.send_signal(number)
    if number != signal.SIGKILL:
        time.sleep(SECONDS_BETWEEN_SIGNALS)
        driver.send_signal(number)
    assert end(driver).returncode == (-number if number == signal.SIGKILL else 130)
