"""From counted words of documents to a `RawTable`."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.datasets import DocumentsDataset
from kernel_pipeline.data.data_directory import existing
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.sparse_columns import canonical
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans, Integers


@dataclass(frozen=True)
class Documents:
    """Documents with the counts of all their words."""

    counts: scipy.sparse.csr_array
    """Counts of shape (m, number of words)."""
    words: Sequence[str]
    """Names of the columns: unigrams or bigrams."""
    target: pd.Series
    """Labels of the m documents."""
    files: list[tuple[Path, int]]
    """Files with one document per line, and the number of documents in each."""


def from_documents(
    documents: Documents,
    dataset: DocumentsDataset,
    *,
    positive: list[str] | None = None,
    class_labels: pd.Series | None = None,
) -> RawTable:
    """Choose the documents that contain a word and the columns of the most frequent words."""
    usable = _usable(documents, dataset)
    columns = _most_frequent(documents, dataset)
    return RawTable(
        features=canonical(documents.counts[usable][:, columns]),
        names=[documents.words[column] for column in columns],
        target=documents.target[usable],
        rows=np.flatnonzero(usable),
        left_out=int((~usable).sum()),
        positive=positive,
        class_labels=None if class_labels is None else class_labels[usable],
    )


def read_lines(path: Path, dataset: str) -> list[bytes]:
    """Read the lines of a file, which must not be empty; files that end in .gz are decompressed."""
    try:
        content = existing(path, "file", dataset).read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"dataset {dataset!r}: cannot read {path}: {error}") from None
    if not lines:
        raise DataError(f"dataset {dataset!r}: {path} is empty; it must contain one line per document")
    return lines


def no_words(dataset: DocumentsDataset, paths: list[Path]) -> DataError:
    """Return the error for documents that contain none of the words that are counted."""
    return DataError(
        f"dataset {dataset.name!r}: there are no {dataset.column_choice.kind} in {' and '.join(map(str, paths))}; "
        "check the file, or set features of the rank-one family to the other choice, 'unigrams' or 'bigrams'"
    )


def _usable(documents: Documents, dataset: DocumentsDataset) -> Booleans:
    """Find the documents that contain at least one word that is counted."""
    usable = np.diff(documents.counts.indptr) > 0
    if dataset.missing == "error" and not usable.all():
        places = [(line, path) for path, count in documents.files for line in range(1, count + 1)]
        line, path = places[int(np.argmin(usable))]
        raise DataError(
            f"dataset {dataset.name!r}: {int((~usable).sum())} of {len(usable)} documents contain no "
            f"{dataset.column_choice.kind}; the first is in line {line} of {path}. Fix the file, or drop these "
            "documents: missing = 'drop'"
        )
    return usable


def _most_frequent(documents: Documents, dataset: DocumentsDataset) -> Integers:
    """Return the columns of the most frequent words in decreasing frequency, ties in alphabetical order."""
    words = documents.words
    top = dataset.column_choice.top or len(words)
    if top > len(words):
        raise DataError(
            f"dataset {dataset.name!r}: top = {top}, but there are only {len(words)} {dataset.column_choice.kind}; "
            "set top to at most this number, or remove it to use all of them"
        )
    by_text = np.array(sorted(range(len(words)), key=words.__getitem__))
    totals = np.asarray(documents.counts.sum(axis=0))
    return by_text[np.argsort(-totals[by_text], kind="stable")][:top]
