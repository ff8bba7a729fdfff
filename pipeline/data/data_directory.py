"""The directory that contains data files."""

import os
from pathlib import Path
from typing import Literal

from kernel_pipeline.errors import DataError

DATA_DIR_VARIABLE = "PIPELINE_DATA_DIR"


def data_folder(option: Path | None, config_folder: Path) -> Path:
    """Return the base of relative paths: --data-dir, else PIPELINE_DATA_DIR, else the directory of the config."""
    if option is not None:
        return option
    return Path(os.environ.get(DATA_DIR_VARIABLE) or config_folder)


def existing(path: Path, kind: Literal["file", "folder"], dataset: str) -> Path:
    """Return the path unchanged.

    Raises
    ------
    DataError
        If there is no such file or folder.
    """
    if not (path.is_file() if kind == "file" else path.is_dir()):
        raise DataError(
            f"dataset {dataset!r}: there is no {kind} {path}. Put it there, or choose another data directory: "
            f"--data-dir DIR, or the environment variable {DATA_DIR_VARIABLE}"
        )
    return path
