"""The files that data came from: what they were when a run began, and whether they have changed since."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_pipeline.config.datasets import Dataset, FileDataset, SentimentDataset, TextDataset
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.sparse_sources import sentiment_files

Sources = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""By dataset and by path below the data folder: size in bytes, time of the last change, SHA-256."""


def source_files(dataset: Dataset) -> list[str]:
    """The files of a dataset, as paths below the data folder; none if it comes from elsewhere."""
    if isinstance(dataset, SentimentDataset):
        return [str(Path(dataset.path) / file) for file in sentiment_files(dataset.domain)]
    return [dataset.path] if isinstance(dataset, FileDataset | TextDataset) else []


def describe_sources(config: Config, folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """What the source files of all datasets are now."""
    described: dict[str, dict[str, dict[str, Any]]] = {}
    for dataset in config.dataset:
        for name in source_files(dataset):
            path = folder / name
            if path.is_file():
                facts = path.stat()
                described.setdefault(dataset.name, {})[name] = {
                    "bytes": facts.st_size,
                    "mtime_ns": facts.st_mtime_ns,
                    "sha256": file_sha256(path),
                }
    return described


def changed_source(dataset: Dataset, recorded: Sources, folder: Path) -> Path | None:
    """The first source file of a dataset that is not what it was.

    A file of the same size and time of change counts as the same, and is not read; one that is gone tells nothing.
    """
    for name in source_files(dataset):
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
    """The SHA-256 of a file, read in parts."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
