"""The run directory: taken for one sweep, refused to any other."""

import os
import tempfile
import tomllib
from pathlib import Path

from pipeline.config import Config
from pipeline.config_file import config_digest, differences, parse_config, to_toml
from pipeline.environment import environment, recorded_fingerprints
from pipeline.errors import RefusedError
from pipeline.files import write_whole
from pipeline.layout import CONFIG, ENVIRONMENT, LEDGER, LOGS
from pipeline.samples import Samples


def default_directory(config: Config) -> Path:
    """Where a sweep goes unless told: the same config always to the same place."""
    return Path("runs") / f"{config.name}-{config_digest(config)}"


def check_directory(root: Path, config: Config, samples: list[Samples]) -> None:
    """Refuse a directory that holds anything but this very sweep. Writes nothing."""
    elsewhere = "Choose another directory with --out"
    try:
        root.stat()
    except FileNotFoundError:
        pass
    except OSError as error:
        raise RefusedError(f"{root} cannot be used: {error.strerror}. {elsewhere}") from None
    if root.exists() and not root.is_dir():
        raise RefusedError(f"{root} is a file, not a directory. {elsewhere}")
    if (root / CONFIG).exists():
        changes = differences(read_directory_config(root), config)
        if changes:
            listed = "\n".join(f"  {line}" for line in changes)
            raise RefusedError(f"{root} holds another sweep; its config differs:\n{listed}\n{elsewhere}")
        known = recorded_fingerprints(root / ENVIRONMENT) if (root / ENVIRONMENT).exists() else {}
        for dataset in samples:
            if known.get(dataset.name, dataset.fingerprint) != dataset.fingerprint:
                raise RefusedError(
                    f"the data of {dataset.name!r} have changed since {root} was begun. {elsewhere}, or put the old "
                    "data back"
                )
    elif root.exists() and any(root.iterdir()):
        raise RefusedError(f"{root} is not empty and is not a run directory. {elsewhere}")
    try:
        with tempfile.TemporaryFile(dir=_nearest(root)):
            pass
    except OSError as error:
        raise RefusedError(f"{_nearest(root)} cannot be written to: {error.strerror}. {elsewhere}") from None


def prepare_directory(root: Path, config: Config, samples: list[Samples]) -> None:
    """Make the directory and say in it what it is for."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / CONFIG).exists():  # first: from here on it is a run directory, whatever else is still missing
        write_whole(root / CONFIG, to_toml(config))
    if not (root / ENVIRONMENT).exists():
        write_whole(root / ENVIRONMENT, environment(samples))
    (root / LOGS).mkdir(exist_ok=True)


def read_directory_config(root: Path) -> Config:
    """The config of a run directory."""
    path = root / CONFIG
    if not path.is_file():
        raise RefusedError(f"{root} is not a run directory: there is no {CONFIG} in it")
    try:
        return parse_config(tomllib.loads(path.read_text("utf-8")), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"{path} is damaged: {error}") from None


def ledger_path(root: Path) -> Path:
    """Where the ledger is."""
    return root / LEDGER


def free_bytes(root: Path) -> int:
    """Free space of the disk that a directory is on, or will be on."""
    disk = os.statvfs(_nearest(root))
    return disk.f_bavail * disk.f_frsize


def _nearest(root: Path) -> Path:
    """The directory itself, or the nearest folder above it that is there."""
    return next(folder for folder in (root, *root.absolute().parents) if folder.exists())
