"""Encode new documents in the same way as the documents of a dataset."""

import json
import textwrap
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

from kernel_pipeline.config.text_datasets import RawTextDataset
from kernel_pipeline.data.new_rows import NewRows, RowForm
from kernel_pipeline.data.sparse_columns import canonical
from kernel_pipeline.data.vocabulary import Vocabulary
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Integers

LENGTHS = {"unigrams": 1, "bigrams": 2}
"""Number of words in a column of each kind."""
MAX_SHOWN = 40
"""Maximum number of characters of a document in a message."""


@dataclass(frozen=True)
class WordCounting:
    """Options for counting words, as in scikit-learn's `CountVectorizer`."""

    lengths: tuple[int, int]
    """Smallest and largest number of words in a column."""
    stop_words: str | list[str] | None = None
    lowercase: bool = True

    @classmethod
    def of(cls, dataset: RawTextDataset) -> Self:
        """Return the options that the keys of a dataset give."""
        lengths = [LENGTHS[kind] for kind in dataset.column_choice.kinds]
        return cls((min(lengths), max(lengths)), dataset.stop_words, dataset.lowercase is not False)

    def count_known(self, texts: Sequence[str], words: Sequence[str]) -> scipy.sparse.csr_array:
        """Return the counts of given words in texts, (number of texts, number of words).

        >>> WordCounting((1, 2)).count_known(["a red red car"], ["car", "red", "red car"]).toarray().tolist()
        [[1.0, 2.0, 1.0]]
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about stop words; the run has a note about them
            counts = self.vectorizer(words).transform(texts)
        return canonical(scipy.sparse.csr_array(counts, dtype=np.float64))

    def vectorizer(self, words: Sequence[str] | None = None) -> CountVectorizer:
        """Return a vectorizer of all words, or of the given ones."""
        return CountVectorizer(
            ngram_range=self.lengths, stop_words=self.stop_words, lowercase=self.lowercase, vocabulary=words
        )


@dataclass(frozen=True)
class DocumentRows:
    """Encoder of documents as counts of known words, weighted if the vocabulary is fitted to all documents.

    Words that do not occur in the documents that the model was fitted to are ignored, and a document without any known
    word has zeros in all columns. Missing and blank documents are not usable.
    """

    counting: WordCounting
    words: tuple[str, ...]
    """Words of the columns of the counts."""
    vocabulary: Vocabulary | None = None
    """Choice and weights of the columns; None if these are fitted to the training set of each trial."""
    column: Hashable = None
    """Column of a table that contains the documents; None if the source consists of documents."""
    chosen: Integers | None = None
    """Indices of the features that are used; None for all."""

    @property
    def form(self) -> RowForm:
        """Form of a file of new rows."""
        return "documents" if self.column is None else "table"

    @property
    def has_column_names(self) -> bool | None:
        """Whether the columns of the source have names: true if its text column has one; false for documents alone."""
        return isinstance(self.column, str)

    def only(self, indices: Integers) -> "DocumentRows":
        """Return an encoder of only the features with the given indices."""
        if self.vocabulary is None:
            return replace(self, words=tuple(self.words[index] for index in indices))
        return replace(self, chosen=np.asarray(indices) if self.chosen is None else self.chosen[indices])

    def weighted(self, vocabulary: Vocabulary) -> "DocumentRows":
        """Return an encoder of the columns of a vocabulary that is fitted to these counts."""
        chosen = self.only(vocabulary.columns)
        return replace(chosen, vocabulary=replace(vocabulary, columns=np.arange(len(vocabulary.columns))))

    def encode(self, rows: Any) -> NewRows:
        """Return the features of new documents, given as a list of texts or as a data frame with the text column."""
        cells = self._cells(rows)
        usable = np.array([isinstance(cell, str) and bool(cell.strip()) for cell in cells], dtype=bool)
        texts = [cell if isinstance(cell, str) else "" for cell in cells]
        counts = self.counting.count_known(texts, self.words)
        features = counts if self.vocabulary is None else _apply(self.vocabulary, counts)
        features = features if self.chosen is None else features[:, self.chosen]
        unknown = int((usable & (np.diff(counts.indptr) == 0)).sum())
        note = f"{unknown:,} of {int(usable.sum()):,} documents contain no word that the model knows"
        return NewRows(scipy.sparse.csr_array(features), usable, (note,) if unknown else ())

    def _cells(self, rows: Any) -> list[Any]:
        """Return the documents: text, or a missing value such as None or NaN."""
        if isinstance(rows, str):
            example = json.dumps(textwrap.shorten(rows, MAX_SHOWN, placeholder="..."), ensure_ascii=False)
            raise DataError(f"the new rows are one string; a list of documents is required: predict([{example}])")
        if isinstance(rows, pd.DataFrame):
            by_text = {str(label): label for label in rows.columns}
            if self.column is None and rows.shape[1] == 1:
                rows = rows.iloc[:, 0]
            elif str(self.column) in by_text:
                rows = rows[by_text[str(self.column)]]
            else:
                wanted = "one column of documents" if self.column is None else f"the text column {self.column!r}"
                found = ", ".join(map(repr, rows.columns[:10]))
                raise DataError(f"the new rows must have {wanted}; their columns are {found}")
        cells = pd.Series(list(rows), dtype=object)
        wrong = [cell for cell in cells[cells.notna()] if not isinstance(cell, str)]
        if wrong:
            raise DataError(f"the new documents must be text; one of them is {wrong[0]!r}")
        return cells.tolist()


def _apply(vocabulary: Vocabulary, counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return the weighted columns of any number of documents; scikit-learn does not normalize an empty matrix."""
    return vocabulary.apply(counts) if counts.shape[0] else counts[:, vocabulary.columns]
