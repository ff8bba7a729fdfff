"""Sources whose columns are mostly zero: counts of words in documents, and libsvm files of rank-one families."""

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.datasets import FileDataset, SentimentDataset, TextDataset
from kernel_pipeline.data.encoding import LARGEST
from kernel_pipeline.data.formats import read_libsvm
from kernel_pipeline.data.sources import Table, existing
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans, Integers

# The two files of a domain, in the order of their rows, and the ratings that each may hold.
RATINGS = {"positive": (4.0, 5.0), "negative": (1.0, 2.0)}
# What stands for the label of a blank line.
BLANK = "0"
# Counts of more digits are not exact as floats.
MOST_DIGITS = 15


@dataclass(frozen=True)
class _Documents:
    """Documents, all of whose words are counted."""

    counts: scipy.sparse.csr_array
    """(m, words)"""
    words: Sequence[str]
    target: pd.Series
    files: list[tuple[Path, int]]
    """Where the documents stand, a line each: files, and how many are in each."""


def read_sparse(dataset: FileDataset | TextDataset | SentimentDataset, folder: Path) -> Table:
    """Read documents as the counts of their words, or a libsvm file as it is."""
    if isinstance(dataset, FileDataset):
        return _libsvm(dataset, folder)
    documents = _sentiment(dataset, folder) if isinstance(dataset, SentimentDataset) else _text(dataset, folder)
    usable = _usable(documents, dataset)
    columns = _most_frequent(documents, dataset)
    return Table(
        features=_canonical(documents.counts[usable][:, columns]),
        names=[documents.words[column] for column in columns],
        target=documents.target[usable],
        rows=np.flatnonzero(usable),
        left_out=int((~usable).sum()),
    )


def _libsvm(dataset: FileDataset, folder: Path) -> Table:
    path = existing(folder / dataset.path, "file", dataset.name)
    features, columns, target = read_libsvm(path, dataset)
    row_of = np.repeat(np.arange(len(target)), np.diff(features.indptr))
    unusable = ~(np.abs(features.data) < LARGEST)  # true for NaN and infinity
    whole = np.abs(target) < LARGEST
    whole[row_of[unusable]] = False
    if dataset.missing == "error" and not whole.all():
        row = int(np.argmin(whole))
        value = np.append(features.data[unusable & (row_of == row)], target[row])[0]
        raise DataError(
            f"dataset {dataset.name!r}: {path} has no usable number in row {row + 1} (read as {value}); "
            f"{int((~whole).sum())} of {len(whole)} rows are like that. Mend the file, or leave such rows out: "
            "missing = 'drop'"
        )
    return Table(
        features=_canonical(features[whole]),
        names=[str(column) for column in columns],
        target=pd.Series(target)[whole],
        rows=np.flatnonzero(whole),
        left_out=int((~whole).sum()),
    )


def _text(dataset: TextDataset, folder: Path) -> _Documents:
    from sklearn.feature_extraction.text import CountVectorizer

    path = folder / dataset.path
    labels: list[str] = []
    texts: list[str] = []
    for number, line in enumerate(_lines(path, dataset.name), start=1):
        try:
            label, *text = line.decode("utf-8-sig").split(maxsplit=1)
        except UnicodeDecodeError as error:
            raise DataError(f"dataset {dataset.name!r}: {path}, line {number}: {error}") from None
        except ValueError:  # there is nothing to unpack
            if dataset.missing == "drop":
                label, text = BLANK, []  # without a word, it will be left out
            else:
                raise DataError(
                    f"dataset {dataset.name!r}: {path}, line {number} is blank; a line needs a label, and then the "
                    "text. Leave such lines out: missing = 'drop'"
                ) from None
        labels.append(label)
        texts.append("".join(text))
    _check_labels(labels, path, dataset.name)
    words = 2 if _counted(dataset) == "bigrams" else 1
    vectorizer = CountVectorizer(ngram_range=(words, words))
    try:
        counts = scipy.sparse.csr_array(vectorizer.fit_transform(texts), dtype=np.float64)
    except ValueError:  # no word at all
        raise _nothing_counted(dataset, [path]) from None
    return _Documents(counts, vectorizer.get_feature_names_out().tolist(), pd.Series(labels), [(path, len(texts))])


def _check_labels(labels: list[str], path: Path, name: str) -> None:
    numbers = np.abs(pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy(np.float64))
    if not np.isnan(numbers).any() and (numbers >= LARGEST).any():
        row = int(np.argmax(numbers >= LARGEST))
        raise DataError(
            f"dataset {name!r}: {path}, line {row + 1}: the label {labels[row]} is too large; numbers must be below "
            f"{LARGEST:g} in size"
        )


def sentiment_files(domain: str) -> list[str]:
    """The files of a domain, below the folder of the reviews."""
    return [file for side in RATINGS for file in (_reviews(domain, side), _rating_file(domain, side))]


def _reviews(domain: str, side: str) -> str:
    return f"processed_acl/{domain}/{side}.review.gz"


def _rating_file(domain: str, side: str) -> str:
    return f"ratings/{domain}_{side}.txt"


def _sentiment(dataset: SentimentDataset, folder: Path) -> _Documents:
    root = folder / dataset.path
    domains = existing(root / "processed_acl", "folder", dataset.name)
    known = sorted(entry.name for entry in domains.iterdir() if entry.is_dir())
    if dataset.domain not in known:
        raise DataError(
            f"dataset {dataset.name!r}: domain = {dataset.domain!r} is not in {domains}; "
            f"there are: {', '.join(known) or 'none'}"
        )
    bigrams = _counted(dataset) == "bigrams"
    column_of: dict[bytes, int] = {}
    columns, counts, ends = [], [], [0]
    ratings: list[float] = []
    files = []
    for side in RATINGS:
        path = root / _reviews(dataset.domain, side)
        lines = _lines(path, dataset.name)
        for number, line in enumerate(lines, start=1):
            try:
                for word, count in _count(line, side):
                    if (b"_" in word) == bigrams:
                        columns.append(column_of.setdefault(word, len(column_of)))
                        counts.append(count)
            except ValueError as error:
                raise DataError(f"dataset {dataset.name!r}: {path}, line {number} {error}") from None
            ends.append(len(columns))
        files.append((path, len(lines)))
        ratings += _ratings(root / _rating_file(dataset.domain, side), side, *files[-1], dataset.name)
    if not column_of:
        raise _nothing_counted(dataset, [path for path, _ in files])
    matrix = scipy.sparse.csr_array(
        (np.array(counts, np.float64), np.array(columns), np.array(ends)), shape=(len(ratings), len(column_of))
    )
    return _Documents(matrix, [word.decode("latin-1") for word in column_of], pd.Series(ratings), files)


def _count(line: bytes, side: str) -> Iterator[tuple[bytes, int]]:
    """The words of a line, which are bytes until it is known which ones are wanted, and their counts."""
    *tokens, label = line.split() or [b""]
    if label.decode("latin-1") != f"#label#:{side}":
        raise ValueError(f"ends in {label.decode('latin-1')!r}, not in its label, '#label#:{side}'")
    for token in tokens:
        word, _, count = token.rpartition(b":")
        number = int(count) if count.isdigit() and len(count) <= MOST_DIGITS else 0
        if not word or number == 0:
            raise ValueError(f"has {token.decode('latin-1')!r}, which is not word:count with a count of 1 or more")
        yield word, number


def _ratings(path: Path, side: str, reviews: Path, expected: int, name: str) -> list[float]:
    """The ratings of a file of reviews, line by line."""
    lines = _lines(path, name)
    if len(lines) != expected:
        raise DataError(
            f"dataset {name!r}: {path} has {len(lines)} ratings, but {reviews} has {expected} reviews; "
            "there must be a rating for each, in the same order"
        )
    ratings = pd.to_numeric(pd.Series([line.decode("latin-1") for line in lines]), errors="coerce")
    wrong = ~ratings.isin(RATINGS[side])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"dataset {name!r}: {path}, line {row + 1} is {lines[row].decode('latin-1')!r}; ratings of {side} reviews "
            f"are {' or '.join(f'{rating:g}' for rating in RATINGS[side])}"
        )
    return [float(rating) for rating in ratings]


def _lines(path: Path, name: str) -> list[bytes]:
    """The lines of a file that holds at least one; .gz is read as it is."""
    try:
        content = existing(path, "file", name).read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"dataset {name!r}: cannot read {path}: {error}") from None
    if not lines:
        raise DataError(f"dataset {name!r}: {path} is empty; it must hold a line for each document")
    return lines


def _usable(documents: _Documents, dataset: TextDataset | SentimentDataset) -> Booleans:
    """Which documents have a word to count; refuses the others unless they may be left out."""
    usable = np.diff(documents.counts.indptr) > 0
    if dataset.missing == "error" and not usable.all():
        places = [(line, path) for path, count in documents.files for line in range(1, count + 1)]
        line, path = places[int(np.argmin(usable))]
        raise DataError(
            f"dataset {dataset.name!r}: {int((~usable).sum())} of {len(usable)} documents have no "
            f"{_counted(dataset)} to count, the first of them in line {line} of {path}. Mend the file, or leave "
            "such documents out: missing = 'drop'"
        )
    return usable


def _most_frequent(documents: _Documents, dataset: TextDataset | SentimentDataset) -> Integers:
    """The columns of the most frequent words, by decreasing frequency; of equally frequent ones by their text."""
    words = documents.words
    top = dataset.column_choice.top or len(words)
    if top > len(words):
        raise DataError(
            f"dataset {dataset.name!r}: top = {top}, but there are only {len(words)} {_counted(dataset)}; "
            "set top to at most that, or leave it out for all"
        )
    by_text = np.array(sorted(range(len(words)), key=words.__getitem__))
    totals = np.asarray(documents.counts.sum(axis=0))
    return by_text[np.argsort(-totals[by_text], kind="stable")][:top]


def _counted(dataset: TextDataset | SentimentDataset) -> str:
    """What is counted: unigrams or bigrams."""
    return dataset.column_choice.kind


def _nothing_counted(dataset: TextDataset | SentimentDataset, paths: list[Path]) -> DataError:
    return DataError(
        f"dataset {dataset.name!r}: there are no {_counted(dataset)} in {' and '.join(map(str, paths))}; "
        "check the file, or set features of the family to the other of 'unigrams' and 'bigrams'"
    )


def _canonical(features: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The same numbers in the one form whose digest is always the same."""
    features.sum_duplicates()
    features.eliminate_zeros()
    return features
