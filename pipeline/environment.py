"""What a result depends on besides its config: versions, platform, data, the state of the source."""

import json
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.errors import RefusedError
from pipeline.samples import Samples

LIBRARIES = ("dask", "distributed", "numpy", "osqp", "pandas", "scikit-learn", "scipy", "zarr")


def environment(samples: list[Samples]) -> str:
    """The environment as JSON."""
    content: dict[str, Any] = {
        "format": 1,
        "pipeline": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "git": _git_state(),
        "datasets": {dataset.name: dataset.fingerprint for dataset in samples},
    }
    return json.dumps(content, indent=2) + "\n"


def recorded_fingerprints(path: Path) -> dict[str, str]:
    """The fingerprints of the datasets that a run directory was begun with."""
    try:
        found: dict[str, str] = json.loads(path.read_text())["datasets"]
    except (ValueError, KeyError, TypeError):
        raise RefusedError(f"{path} is damaged; restore it, or choose another directory with --out") from None
    return found


def _git_state() -> str | None:
    """The commit of the source tree this runs from, with '+' if files are changed; None where it is not known."""
    folder = Path(__file__).parent
    if not (folder.parent / ".git").exists():
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
