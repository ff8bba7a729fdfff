"""Record the files from which datasets are read when a run begins, and find those that have changed since.

A folder, such as a zarr array, counts as one file.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.data_directory import data_path


class FileIdentity(TypedDict):
    """Identity of a file; a run directory stores it as JSON."""

    bytes: int
    mtime_ns: int
    sha256: str


Sources = Mapping[str, Mapping[str, FileIdentity]]
"""Files by the name of the dataset and by the path relative to the data directory."""


def describe_sources(config: Config, folder: Path) -> dict[str, dict[str, FileIdentity]]:
    """Return the current identity of the source files of all datasets."""
    described: dict[str, dict[str, FileIdentity]] = {}
    for dataset in config.dataset:
        for name in _files(dataset):
            path = data_path(folder, name)
            if path.is_file() or path.is_dir():
                size, modified = file_state(path)
                described.setdefault(dataset.name, {})[name] = {
                    "bytes": size,
                    "mtime_ns": modified,
                    "sha256": file_sha256(path),
                }
    return described


def changed_source(dataset: DatasetBase, recorded: Sources, folder: Path) -> Path | None:
    """Return the first source file of a dataset whose content has changed, or None.

    A file with the recorded size and modification time counts as unchanged and is not read. Files that no longer exist
    are ignored.
    """
    for name in _files(dataset):
        before, path = recorded.get(dataset.name, {}).get(name), data_path(folder, name)
        if before is None or not (path.is_file() or path.is_dir()):
            continue
        size, modified = file_state(path)
        if (size, modified) == (before["bytes"], before["mtime_ns"]):
            continue
        if size != before["bytes"] or file_sha256(path) != before["sha256"]:
            return path
    return None


def file_state(path: Path) -> tuple[int, int]:
    """Return the size and the modification time in nanoseconds; for a folder, the total size and the latest time."""
    states = [file.stat() for file in _inner_files(path)]
    return sum(state.st_size for state in states), max((state.st_mtime_ns for state in states), default=0)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, which is read in parts; for a folder, the digest of its files' digests."""
    if path.is_dir():
        lines = [f"{file.relative_to(path).as_posix()} {file_sha256(file)}\n" for file in _inner_files(path)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _files(dataset: DatasetBase) -> list[str]:
    """Return the files of a dataset and of its precomputed kernels."""
    return list(dict.fromkeys([*dataset.source_files(), *dataset.kernel_files()]))


def _inner_files(path: Path) -> list[Path]:
    """Return the file itself, or all files below a folder in a fixed order."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
