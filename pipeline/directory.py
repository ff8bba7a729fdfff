"""The place of a run: a directory that is free for it, or already its own."""

import os
import tempfile
from pathlib import Path

from pipeline.config import Config
from pipeline.config_file import config_digest
from pipeline.errors import RefusedError
from pipeline.files import PARTIAL
from pipeline.layout import CONFIG, LEDGER, LOCK

ELSEWHERE = "Choose another directory with --out"


def default_directory(config: Config) -> Path:
    """Where a sweep goes unless told: the same config always to the same place."""
    return Path("runs") / f"{config.name}-{config_digest(config)}"


def check_place(root: Path) -> None:
    """Refuse what is neither free nor a run directory, or cannot be written to. Leaves nothing behind."""
    try:
        root.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RefusedError(f"{root} cannot be used: {error.strerror}. {ELSEWHERE}") from None
    if root.exists() and not root.is_dir():
        raise RefusedError(f"{root} is a file, not a directory. {ELSEWHERE}")
    if root.exists() and not is_run_directory(root) and any(map(_is_foreign, root.iterdir())):
        raise RefusedError(f"{root} is not empty and is not a run directory. {ELSEWHERE}")
    try:
        with tempfile.TemporaryFile(dir=_nearest(root)):
            pass
    except OSError as error:
        raise RefusedError(f"{_nearest(root)} cannot be written to: {error.strerror}. {ELSEWHERE}") from None


def is_run_directory(root: Path) -> bool:
    """Whether a run was ever begun there: its ledger has a line, or is lost and the config is still there."""
    ledger = root / LEDGER
    return (root / CONFIG).is_file() or (ledger.is_file() and b"\n" in ledger.read_bytes())


def _is_foreign(path: Path) -> bool:
    """Whether a file is none of those that a run has before its first line of the ledger."""
    return path.name not in (LEDGER, LOCK) and not path.name.endswith(PARTIAL)


def free_bytes(root: Path) -> int:
    """Free space of the disk that a directory is on, or will be on."""
    disk = os.statvfs(_nearest(root))
    return disk.f_bavail * disk.f_frsize


def _nearest(root: Path) -> Path:
    """The directory itself, or the nearest folder above it that is there."""
    return next(folder for folder in (root, *root.absolute().parents) if folder.exists())
