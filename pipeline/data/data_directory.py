"""Find the directory that contains data files."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.listing import list_first

DATA_DIR_VARIABLE = "PIPELINE_DATA_DIR"
MAX_LISTED = 5
"""Maximum number of files in an error message."""


def data_folder(option: Path | None, config_folder: Path) -> Path:
    """Return the base of relative paths: --data-dir, or PIPELINE_DATA_DIR, or the directory of the config."""
    if option is not None:
        return option.expanduser()
    return Path(os.environ.get(DATA_DIR_VARIABLE) or config_folder).expanduser()


def data_path(folder: Path, path: str) -> Path:
    """Return the path of a data file; `~` is the home directory, and relative paths are relative to the folder.

    >>> data_path(Path("data"), "things.csv").as_posix()
    'data/things.csv'
    """
    try:
        return folder / Path(path).expanduser()
    except RuntimeError:  # the home directory of an unknown user
        return folder / path


def require_path(path: Path, kind: Literal["file", "folder"], dataset: str, key: str = "path") -> Path:
    """Return the path of a file or folder, which must exist.

    Parameters
    ----------
    dataset, key
        Name of the dataset, and the key that gives the path, for error messages.

    Raises
    ------
    DataError
        If there is no such file or folder.
    """
    if path.is_file() if kind == "file" else path.is_dir():
        return path
    if path.is_dir():
        contents = _listed(_names(path, files_only=True))
        raise DataError(
            f"dataset {dataset!r}: {key}: {path.absolute()} is a folder, but a file is required; it contains "
            f"{contents}. Set {key} to a file"
        )
    if path.is_file():
        raise DataError(
            f"dataset {dataset!r}: {key}: {path.absolute()} is a file, but a folder is required. Set {key} to a folder"
        )
    found = _describe_search(path)
    end = "" if found.endswith("?") else "."
    raise DataError(
        f"dataset {dataset!r}: {key}: there is no {kind} {path}: {found}{end} Put the {kind} at this path, change "
        f"{key}, or choose another data directory: --data-dir DIR, or the environment variable {DATA_DIR_VARIABLE}"
    )


def _describe_search(path: Path) -> str:
    """Describe the folder that was searched and its entries with similar names."""
    folder, wanted = path.parent, path.name
    while not folder.is_dir() and folder != folder.parent:
        folder, wanted = folder.parent, folder.name
    names = _names(folder)
    folded = {name.casefold(): name for name in names}
    close = [folded[name] for name in get_close_matches(wanted.casefold(), folded, n=MAX_LISTED)]
    absent = "" if folder == path.parent else f"the folder {path.parent.absolute()} does not exist; "
    searched = f"{absent}the folder {folder.absolute()} was searched; it contains"
    return f"{searched} {_listed(close)}; did you mean {close[0]!r}?" if close else f"{searched} {_listed(names)}"


def _names(folder: Path, files_only: bool = False) -> list[str]:
    """Return the names of the entries of a folder, without hidden ones."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
        return sorted(entry.name for entry in entries if not files_only or entry.is_file())
    except OSError:
        return []


def _listed(names: Sequence[str]) -> str:
    return list_first(names, MAX_LISTED) or "no visible files"
