"""Describe the environment of a run: library versions, platform, data and the state of the source tree."""

import json
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernel_pipeline import __version__
from kernel_pipeline.data.source_files import Sources
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.json_text import parse_json

FORMAT = 5
"""Version of the layout of run directories."""
OLDEST_FORMAT = 2
"""Oldest layout that can be read. A run with an older layout than `FORMAT` is recomputed when it is resumed."""

CPU_INFO = Path("/proc/cpuinfo")
LIBRARIES = ("dask", "distributed", "numpy", "osqp", "pandas", "scikit-learn", "scipy", "zarr")


def environment(
    infos: Sequence[DatasetInfo],
    data_folder: Path,
    sources: Sources | None = None,
    plugins: Sequence[str] = (),
) -> str:
    """Return the environment as a JSON text.

    Parameters
    ----------
    data_folder
        Folder for relative paths of data files.
    sources
        Descriptions of the files that the data came from.
    plugins
        Names of the packages of plug-ins.
    """
    content: dict[str, Any] = {
        "format": FORMAT,
        "pipeline": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": machine(),
        "libraries": {name: version(name) for name in (*LIBRARIES, *plugins)},
        "git": _git_state(),
        "data_folder": str(data_folder.absolute()),
        "datasets": {info.name: info.fingerprint for info in infos},
        "fitted": {info.name: {"fit_on": info.fit_on, "steps": list(info.fitted_steps)} for info in infos},
        "sources": sources or {},
    }
    return json.dumps(content, indent=2) + "\n"


def version_changes(recorded: str, plugins: Sequence[str] = ()) -> list[str]:
    """List the differences from a recorded environment that may change the last digits of results.

    These are the versions of libraries and plug-ins, the type of the CPU and the BLAS.
    """
    content = parse_json(recorded.encode())
    before = content.get("libraries")
    if not isinstance(before, dict):
        return []
    now = {name: version(name) for name in (*LIBRARIES, *plugins)}
    changes = [f"{name} {before[name]} -> {now[name]}" for name in now if before.get(name, now[name]) != now[name]]
    if old := content.get("machine"):
        new = machine()
        if old["cpu"] != new["cpu"]:
            changes.append(f"CPU {old['cpu']} -> {new['cpu']}")
        if old["blas"] != new["blas"]:
            changes.append(f"{_blas_text(old['blas'])} -> {_blas_text(new['blas'])}")
    return changes


def machine() -> dict[str, Any]:
    """Return the type of the CPU, and for each BLAS its version and CPU architecture.

    The last digits of results depend on both.
    """
    import scipy.linalg  # noqa: F401, numpy and scipy may each load a BLAS of their own
    from threadpoolctl import threadpool_info

    found = {
        (library["internal_api"], library.get("version"), library.get("architecture"))
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }
    names = ("library", "version", "architecture")
    return {"cpu": _cpu(), "blas": [dict(zip(names, facts, strict=True)) for facts in sorted(found, key=str)]}


def _cpu() -> str:
    try:
        lines = CPU_INFO.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def _blas_text(libraries: list[dict[str, str | None]]) -> str:
    return ", ".join(" ".join(str(fact) for fact in library.values() if fact) for library in libraries) or "no BLAS"


def _git_state() -> str | None:
    """Return the commit of the source tree, followed by '+' if files were changed; None if it is not known."""
    folder = Path(__file__).resolve().parents[2]  # an editable installation has links to the source files
    if not (folder / ".git").exists():
        return None
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
