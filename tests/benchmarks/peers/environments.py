"""Environments of peers, and processes that run in them with one thread, a time limit and a memory limit."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
INSTALLED = "installed.txt"
INSTALL_SECONDS = 1800
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
MAX_REASON = 160
OUT_OF_MEMORY = ("MemoryError", "can't allocate memory")


class StepError(Exception):
    """A step failed; the message is the reason that the table shows."""


def default_cache() -> Path:
    """Return the folder of the environments, unless the user names another one."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kernel-pipeline" / "peers"


def environment_python(folder: Path, requirements: tuple[str, ...]) -> str:
    """Create a virtual environment, unless it exists; return its interpreter.

    Raises
    ------
    StepError
        If the requirements cannot be installed.
    """
    python, marker = folder / "bin" / "python", folder / INSTALLED
    wanted = "\n".join(requirements)
    if marker.exists() and marker.read_text() == wanted:
        return str(python)
    marker.unlink(missing_ok=True)
    run_command([sys.executable, "-m", "venv", "--clear", str(folder)], INSTALL_SECONDS)
    try:
        run_command([str(python), "-m", "pip", "install", "--quiet", *requirements], INSTALL_SECONDS)
    except StepError as error:
        raise StepError(f"pip install {' '.join(requirements)}: {error}") from error
    marker.write_text(wanted)
    return str(python)


def installed_version(python: str, package: str) -> str:
    """Return the version of a package in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return run_command([python, "-c", code], INSTALL_SECONDS).strip()


def run_step(python: str, arguments: list[str], limit: float, memory_gib: float | None = None) -> dict[str, Any]:
    """Run a step of `step.py` with one thread; return the JSON that it prints.

    The last argument is a path in the folder of temporary files, which the caller removes, even if a step is killed.
    """
    command = [python, "-m", "tests.benchmarks.peers.step", *arguments]
    scratch = str(Path(arguments[-1]).parent)
    found: dict[str, Any] = json.loads(run_command(command, limit, memory_gib, scratch).splitlines()[-1])
    return found


def run_command(command: list[str], limit: float, memory_gib: float | None = None, scratch: str | None = None) -> str:
    """Run a command, and end it with all its child processes at the time limit; return what it prints."""

    def limit_memory() -> None:
        if memory_gib is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(memory_gib * 2**30),) * 2)

    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment |= dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(ROOT)}
    if scratch is not None:
        environment["TMPDIR"] = scratch
    with subprocess.Popen(
        command,
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=limit_memory,
    ) as process:
        try:
            printed, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise StepError(f"over {limit:.0f} s") from None
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise StepError(_reason(errors, process.returncode, memory_gib))
    return printed


def _reason(errors: str, code: int, memory_gib: float | None) -> str:
    """Return the line of an error output that says most: the last one that names an error."""
    if memory_gib is not None and any(phrase in errors for phrase in OUT_OF_MEMORY):
        return f"needs more than {memory_gib:g} GiB"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line or line.startswith("ERROR")]
    return (named or lines or [f"exit code {code}"])[-1][:MAX_REASON]
