"""Files that datasets are read from: record them when a run begins, and find those that have changed since."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.sweep import Config


class FileFacts(TypedDict):
    """Identity of a file; a run directory stores it as JSON."""

    bytes: int
    mtime_ns: int
    sha256: str


Sources = Mapping[str, Mapping[str, FileFacts]]
"""Files by the name of the dataset and by the path relative to the data directory."""


def describe_sources(config: Config, folder: Path) -> dict[str, dict[str, FileFacts]]:
    """Return the current identity of the source files of all datasets."""
    described: dict[str, dict[str, FileFacts]] = {}
    for dataset in config.dataset:
        for name in dataset.source_files():
            path = folder / name
            if path.is_file():
                status = path.stat()
                described.setdefault(dataset.name, {})[name] = {
                    "bytes": status.st_size,
                    "mtime_ns": status.st_mtime_ns,
                    "sha256": file_sha256(path),
                }
    return described


def changed_source(dataset: DatasetBase, recorded: Sources, folder: Path) -> Path | None:
    """Return the first source file of a dataset whose content has changed, or None.

    A file with the recorded size and modification time counts as unchanged and is not read. Files that do not exist any
    more are ignored.
    """
    for name in dataset.source_files():
        before, path = recorded.get(dataset.name, {}).get(name), folder / name
        if before is None or not path.is_file():
            continue
        now = path.stat()
        if (now.st_size, now.st_mtime_ns) == (before["bytes"], before["mtime_ns"]):
            continue
        if now.st_size != before["bytes"] or file_sha256(path) != before["sha256"]:
            return path
    return None


def file_sha256(path: Path) -> str:
    """Return the SHA-256 digest of a file, which is read in parts."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
