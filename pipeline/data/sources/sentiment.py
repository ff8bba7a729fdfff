"""Source `sentiment`: product reviews with ratings (Blitzer, Dredze and Pereira, 2007)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field, model_validator

from kernel_pipeline.config.datasets import SOURCES
from kernel_pipeline.config.text_datasets import DocumentsDataset
from kernel_pipeline.data.raw_table import READERS, RawTable
from kernel_pipeline.errors import DataError

if TYPE_CHECKING:
    from kernel_pipeline.data.documents import Documents

RATINGS = {"positive": (4.0, 5.0), "negative": (1.0, 2.0)}
"""The two files of a domain, in the order of their rows, and the ratings that occur in each."""
MIN_POSITIVE_RATING = min(RATINGS["positive"])
MAX_COUNT_DIGITS = 15
"""Counts with more digits are not exact as floating-point numbers."""


@SOURCES.register("sentiment")
class SentimentDataset(DocumentsDataset):
    """One domain of the multi-domain sentiment dataset: word counts of `processed_acl` and ratings.

    The target of a regression is the rating. A classification separates ratings of at least 4 from those of at most 2.
    """

    source: Literal["sentiment"]
    domain: str = Field(min_length=1, description="a folder of processed_acl, such as 'books'")

    @model_validator(mode="before")
    @classmethod
    def _reject_counting_keys(cls, values: object) -> object:
        for key in ("stop_words", "lowercase"):
            if isinstance(values, dict) and key in values:
                raise ValueError(
                    f"{key}: the words of these reviews are counted already, in lower case and including stop "
                    "words; remove this key"
                )
        return values

    def source_files(self) -> list[str]:
        """Return the files of the domain: reviews and ratings."""
        return [str(Path(self.path) / file) for polarity in RATINGS for file in _files(self.domain, polarity)]


def _files(domain: str, polarity: str) -> tuple[str, str]:
    """Return the file of the reviews and the file of their ratings."""
    return f"processed_acl/{domain}/{polarity}.review.gz", f"ratings/{domain}_{polarity}.txt"


@READERS.register("sentiment")
def _read(dataset: SentimentDataset, folder: Path, seed: int) -> RawTable:
    from kernel_pipeline.data.data_directory import data_path
    from kernel_pipeline.data.documents import table_from_documents

    root = data_path(folder, dataset.path)
    _check_domain(dataset, root / "processed_acl")
    documents = _read_reviews(dataset, root)
    class_labels = documents.target >= MIN_POSITIVE_RATING
    return table_from_documents(documents, dataset, missing=dataset.missing, class_labels=class_labels)


def _check_domain(dataset: SentimentDataset, domains: Path) -> None:
    from kernel_pipeline.data.data_directory import require_path

    require_path(domains, "folder", dataset.name)
    known = sorted(entry.name for entry in domains.iterdir() if entry.is_dir())
    if dataset.domain not in known:
        raise DataError(
            f"dataset {dataset.name!r}: domain = {dataset.domain!r} is not in {domains}. "
            f"Available: {', '.join(known) or 'none'}"
        )


def _read_reviews(dataset: SentimentDataset, root: Path) -> Documents:
    import pandas as pd
    import scipy.sparse

    from kernel_pipeline.data.documents import Documents, no_words_error, read_lines

    kinds = dataset.column_choice.kinds
    column_of: dict[bytes, int] = {}
    columns, counts, ends = [], [], [0]
    ratings: list[float] = []
    files = []
    for polarity in RATINGS:
        path, rating_path = (root / file for file in _files(dataset.domain, polarity))
        lines = read_lines(path, dataset.name)
        for number, line in enumerate(lines, start=1):
            try:
                for word, count in _parse_review(line, polarity):
                    if ("bigrams" if b"_" in word else "unigrams") in kinds:
                        columns.append(column_of.setdefault(word, len(column_of)))
                        counts.append(count)
            except ValueError as error:
                raise DataError(f"dataset {dataset.name!r}: {path}, line {number} {error}") from None
            ends.append(len(columns))
        files.append((path, len(lines)))
        ratings += _read_ratings(rating_path, polarity, *files[-1], dataset.name)
    if not column_of:
        raise no_words_error(dataset, [path for path, _ in files])
    words = sorted(column_of)
    index_of = np.empty(len(words), np.int64)
    index_of[[column_of[word] for word in words]] = np.arange(len(words))
    matrix = scipy.sparse.csr_array(
        (np.array(counts, np.float64), index_of[columns], np.array(ends)), shape=(len(ratings), len(words))
    )
    return Documents(matrix, [word.decode("latin-1") for word in words], pd.Series(ratings), files)


def _parse_review(line: bytes, polarity: str) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a line with their counts; only the words that are used are decoded later."""
    *tokens, label = line.split() or [b""]
    if label.decode("latin-1") != f"#label#:{polarity}":
        raise ValueError(f"ends with {label.decode('latin-1')!r} instead of its label, '#label#:{polarity}'")
    for token in tokens:
        word, _, count = token.rpartition(b":")
        number = int(count) if count.isdigit() and len(count) <= MAX_COUNT_DIGITS else 0
        if not word or number == 0:
            raise ValueError(f"contains {token.decode('latin-1')!r}, which is not word:count with a positive count")
        yield word, number


def _read_ratings(path: Path, polarity: str, reviews: Path, expected: int, dataset: str) -> list[float]:
    """Read the ratings of a file of reviews, one per line."""
    import pandas as pd

    from kernel_pipeline.data.documents import read_lines

    lines = read_lines(path, dataset)
    if len(lines) != expected:
        raise DataError(
            f"dataset {dataset!r}: {path} has {len(lines)} ratings, but {reviews} has {expected} reviews; "
            "there must be one rating per review, in the same order"
        )
    ratings = pd.to_numeric(pd.Series([line.decode("latin-1") for line in lines]), errors="coerce")
    wrong = ~ratings.isin(RATINGS[polarity])
    if wrong.any():
        row = int(np.argmax(wrong))
        allowed = " or ".join(f"{rating:g}" for rating in RATINGS[polarity])
        raise DataError(
            f"dataset {dataset!r}: {path}, line {row + 1} is {lines[row].decode('latin-1')!r}; the rating of a "
            f"{polarity} review must be {allowed}"
        )
    return [float(rating) for rating in ratings]
