"""Choose the words of documents that become columns, and weight their counts.

Choice and weights depend on the data. They are fitted to some of the documents and can then be applied to all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse

from kernel_pipeline.data.sparse_columns import canonical
from kernel_pipeline.tasks.arrays import Floats, Integers

Weighting = Literal["counts", "binary", "tf-idf"]


@dataclass(frozen=True)
class VocabularyOptions:
    """Options of the vocabulary, with the same meaning as in scikit-learn's vectorizers."""

    weighting: Weighting = "counts"
    """Value of a word in a document: its count, 1, or its tf-idf with the defaults of `TfidfTransformer`."""
    min_df: int | float = 1
    """Minimum number of documents in which a word must occur; below 1, a fraction of the documents.

    Only the documents to which the vocabulary is fitted are counted.
    """
    top: int | None = None
    """Number of the most frequent words; None for all."""
    kinds: tuple[str, ...] = ("words",)
    """What the columns are, for messages: unigrams, bigrams or both."""


@dataclass(frozen=True)
class Vocabulary:
    """A fitted vocabulary."""

    weighting: Weighting
    columns: Integers
    """Columns of the counts, in order of decreasing frequency of their words; ties keep their order."""
    idf: Floats | None
    """Inverse document frequency of these columns, for tf-idf."""

    def apply(self, counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return the weighted columns of documents, whether the vocabulary was fitted to them or not."""
        chosen = _weighted(counts, self.weighting)[:, self.columns]
        if self.idf is None:
            return chosen
        from sklearn.preprocessing import normalize  # imported only for tf-idf, since the import is slow

        unit: scipy.sparse.csr_array = normalize(chosen.multiply(self.idf).tocsr(), norm="l2")
        return unit


def fit_vocabulary(
    counts: scipy.sparse.csr_array, options: VocabularyOptions, rows: Integers | None = None
) -> Vocabulary:
    """Choose words by their frequency, and compute the weights of tf-idf.

    Parameters
    ----------
    counts
        Counts of all words in all documents, without duplicate entries; columns in alphabetical order.
    options
        How words are chosen and weighted. The vocabulary has fewer than `top` words if there are fewer.
    rows
        The documents to fit on; None for all. A word that does not occur in them is not chosen.

    Examples
    --------
    >>> counts = scipy.sparse.csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0], [0.0, 9.0, 0.0]])
    >>> fit_vocabulary(counts, VocabularyOptions(top=2)).columns.tolist()
    [1, 2]
    >>> fit_vocabulary(counts, VocabularyOptions(min_df=2), rows=np.array([0, 1])).columns.tolist()
    [2]
    """
    known = counts if rows is None else counts[rows]
    documents = np.bincount(known.indices, minlength=known.shape[1])
    # As in CountVectorizer, the frequency of a word with binary counts is the number of documents that contain it.
    totals = np.asarray(_weighted(known, options.weighting).sum(axis=0))
    required = options.min_df if options.min_df >= 1 else options.min_df * known.shape[0]
    kept = np.flatnonzero(documents >= required)
    columns = kept[np.argsort(-totals[kept], kind="stable")][: options.top]
    idf = None
    if options.weighting == "tf-idf" and len(columns):
        from sklearn.feature_extraction.text import TfidfTransformer

        idf = TfidfTransformer().fit(known[:, columns]).idf_
    return Vocabulary(options.weighting, columns, idf)


def _weighted(counts: scipy.sparse.csr_array, weighting: Weighting) -> scipy.sparse.csr_array:
    """Return the counts, or 1 for each word that occurs; tf-idf is computed from counts."""
    if weighting != "binary":
        return counts
    return scipy.sparse.csr_array((np.ones_like(counts.data), counts.indices, counts.indptr), shape=counts.shape)


@dataclass(frozen=True)
class PlacedVocabulary:
    """A fitted vocabulary whose columns keep their positions among those of other vocabularies."""

    vocabulary: Vocabulary
    """The vocabulary; its `columns` are indices into the combined columns of all vocabularies."""

    def apply(self, counts: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """Return all columns of documents, weighted; those outside of the vocabulary are 0."""
        chosen = scipy.sparse.csr_array(self.vocabulary.apply(counts))
        placed = (chosen.data, self.vocabulary.columns[chosen.indices], chosen.indptr)
        return canonical(scipy.sparse.csr_array(placed, shape=counts.shape))


def place_vocabularies(vocabularies: Sequence[Vocabulary]) -> tuple[Integers, list[PlacedVocabulary]]:
    """Return the columns of the counts that any vocabulary has, ascending, and the vocabularies in terms of these.

    Examples
    --------
    >>> counts = scipy.sparse.csr_array([[1.0, 4.0, 0.0], [2.0, 0.0, 3.0]])
    >>> fitted = [fit_vocabulary(counts, VocabularyOptions(top=1), rows=np.array([row])) for row in (0, 1)]
    >>> columns, (first, second) = place_vocabularies(fitted)
    >>> columns.tolist(), first.apply(counts[:, columns]).toarray().tolist()
    ([1, 2], [[4.0, 0.0], [0.0, 0.0]])
    """
    columns = np.unique(np.concatenate([vocabulary.columns for vocabulary in vocabularies]))
    placed = [replace(vocabulary, columns=np.searchsorted(columns, vocabulary.columns)) for vocabulary in vocabularies]
    return columns, [PlacedVocabulary(vocabulary) for vocabulary in placed]
