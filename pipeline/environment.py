"""What a result depends on besides its config: versions, platform, data, the state of the source."""

import json
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline import __version__
from pipeline.outline import Outline
from pipeline.storage.json_text import parse_json

FORMAT = 3
"""Version of the layout of run directories."""
OLDEST_FORMAT = 2
"""The oldest layout that can be read. Resuming such a run computes it again in the current one."""

LIBRARIES = ("dask", "distributed", "numpy", "osqp", "pandas", "scikit-learn", "scipy", "zarr")


def environment(outlines: Sequence[Outline], data_folder: Path) -> str:
    """The environment as JSON."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "pipeline": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "git": _git_state(),
        "data_folder": str(data_folder.absolute()),
        "datasets": {outline.name: outline.fingerprint for outline in outlines},
    }
    return json.dumps(content, indent=2) + "\n"


def version_changes(recorded: str) -> list[str]:
    """Libraries that have another version now than in a recorded environment."""
    before = parse_json(recorded.encode()).get("libraries")
    if not isinstance(before, dict):
        return []
    now = {name: version(name) for name in LIBRARIES}
    return [f"{name} {before[name]} -> {now[name]}" for name in LIBRARIES if before.get(name, now[name]) != now[name]]


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
