"""Build a `RawTable` from the word counts of documents."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.text_datasets import CountedWordsDataset
from kernel_pipeline.data.data_directory import require_path
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.sparse_columns import canonical
from kernel_pipeline.data.vocabulary import Vocabulary, VocabularyOptions, fit_vocabulary
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans, Integers

if TYPE_CHECKING:  # it imports scikit-learn, which is slow and not needed for counted words
    from kernel_pipeline.data.document_rows import DocumentRows


@dataclass(frozen=True)
class Documents:
    """Documents with the counts of all their words."""

    counts: scipy.sparse.csr_array
    """Counts of shape (m, number of words)."""
    words: Sequence[str]
    """Names of the columns, unigrams or bigrams, in alphabetical order."""
    target: pd.Series
    """Labels of the m documents; its index holds their numbers in the source."""
    files: list[tuple[Path, int]]
    """Files of the source, and the number of documents in each."""
    unit: str = "line"
    """Unit of the file that contains one document: "line" or "row"."""
    notes: tuple[str, ...] = ()
    """Remarks about how the words were counted."""
    encoder: "DocumentRows | None" = None
    """Encoder of new documents, if these are text."""


def table_from_documents(
    documents: Documents,
    dataset: CountedWordsDataset,
    *,
    missing: str,
    positive: list[str] | None = None,
    class_labels: pd.Series | None = None,
) -> RawTable:
    """Build a table of the documents that contain at least one word, with columns for the most frequent words.

    The choice and the weights of words are based on all documents, or left to the caller if they are to be fitted to
    the training set of each trial.
    """
    usable = _usable(documents, dataset, missing)
    counts = canonical(documents.counts[usable])
    choice = dataset.column_choice
    options = VocabularyOptions(dataset.counts or "counts", dataset.min_df or 1, choice.top, choice.kinds)
    target = documents.target[usable]
    table = RawTable(
        features=counts,
        names=list(documents.words),
        target=target,
        rows=target.index.to_numpy(np.int64),
        left_out=int((~usable).sum()),
        positive=positive,
        class_labels=None if class_labels is None else class_labels[usable],
        notes=documents.notes,
        vocabulary=options,
        encoder=documents.encoder,
    )
    if dataset.fit_on == "train" and dataset.fitted_steps():
        return table
    vocabulary = fit_nonempty_vocabulary(counts, options, dataset.name)
    return replace(
        table,
        features=canonical(vocabulary.apply(counts)),
        names=[documents.words[column] for column in vocabulary.columns],
        notes=documents.notes + few_words_note([vocabulary], options),
        vocabulary=None,
        encoder=documents.encoder and documents.encoder.weighted(vocabulary),
    )


def read_lines(path: Path, dataset: str) -> list[bytes]:
    """Read the lines of a file, which must not be empty; files that end in .gz are decompressed."""
    try:
        content = require_path(path, "file", dataset).read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"dataset {dataset!r}: cannot read {path}: {error}") from None
    if not lines:
        raise DataError(f"dataset {dataset!r}: {path} is empty; it must contain one line per document")
    return lines


def words_counted(dataset: CountedWordsDataset) -> str:
    """Return what is counted, for messages: unigrams, bigrams, or both."""
    return " or ".join(dataset.column_choice.kinds)


def no_words_error(dataset: CountedWordsDataset, paths: list[Path], hint: str = "") -> DataError:
    """Return the error for documents that contain none of the words that are counted."""
    where = " and ".join(map(str, paths))
    other = ", or change features of the rank-one family: 'unigrams', 'bigrams' or a list of both"
    fix = "check the file" + (other if len(dataset.column_choice.kinds) == 1 else "")
    return DataError(f"dataset {dataset.name!r}: there are no {words_counted(dataset)} in {where}{hint}; {fix}")


def _usable(documents: Documents, dataset: CountedWordsDataset, missing: str) -> Booleans:
    """Find the documents that contain at least one word that is counted."""
    usable = np.diff(documents.counts.indptr) > 0
    if missing == "error" and not usable.all():
        locations = [(number, path) for path, count in documents.files for number in range(1, count + 1)]
        number, path = locations[int(documents.target.index[int(np.argmin(usable))])]
        raise DataError(
            f"dataset {dataset.name!r}: {int((~usable).sum())} of {len(usable)} documents contain no "
            f"{words_counted(dataset)}; the first is in {documents.unit} {number} of {path}. Fix the file, or drop "
            "these documents: missing = 'drop'"
        )
    return usable


def fit_nonempty_vocabulary(
    counts: scipy.sparse.csr_array, options: VocabularyOptions, name: str, rows: Integers | None = None
) -> Vocabulary:
    """Fit a vocabulary to some documents of a dataset, or to all of them.

    Raises
    ------
    DataError
        If no word is frequent enough.
    """
    vocabulary = fit_vocabulary(counts, options, rows)
    if not len(vocabulary.columns):
        documents = f"the {counts.shape[0]} documents" if rows is None else f"{len(rows)} training documents"
        raise DataError(
            f"dataset {name!r}: min_df = {options.min_df}, but no {' or '.join(options.kinds)} occur in that many of "
            f"{documents}; choose a smaller min_df"
        )
    return vocabulary


def few_words_note(vocabularies: Sequence[Vocabulary], options: VocabularyOptions) -> tuple[str, ...]:
    """Return a note if there are fewer words than the config asks for, in the only vocabulary or in that of a trial."""
    found = min(len(vocabulary.columns) for vocabulary in vocabularies)
    if options.top is None or found >= options.top:
        return ()
    words = " and ".join(options.kinds) + (" in a training set" if len(vocabularies) > 1 else "")
    return (f"top = {options.top}, but there are only {found} {words}; all of them are used",)
