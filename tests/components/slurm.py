"""Helpers that use the commands of a real Slurm cluster."""

import subprocess
from pathlib import Path
from typing import Any

import psutil
import tomli_w

PROFILE: dict[str, Any] = {
    "backend": "slurm",
    "jobs": 2,
    "memory": "1200 MiB",
    "walltime": "0:10:00",
    "interface": "lo",
    "driver": {"memory": "800 MiB"},
}


def slurm(*command: str) -> str:
    """Return the output of a Slurm command; empty if the command is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def queue(name: str = "") -> list[str]:
    """Return the ids of the jobs in the queue whose names start with `name`."""
    jobs = (line.split() for line in slurm("squeue", "--noheader", "--format=%A %j").splitlines())
    return [number for number, found in jobs if found.startswith(name)]


def write_profile(folder: Path, **changes: Any) -> Path:
    path = folder / "queue.toml"
    path.write_text(tomli_w.dumps(PROFILE | changes))
    return path


def worker_processes(root: Path) -> list[psutil.Process]:
    """Return the processes of the workers of a run, including their nannies."""
    commands = {process: process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])}
    return [
        member
        for process, command in commands.items()
        if "distributed.cli.dask_worker" in command and str(root) in " ".join(command)  # the path of its certificates
        for member in (process, *process.children(recursive=True))
    ]
