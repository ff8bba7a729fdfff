"""Vocabularies equal those of scikit-learn's vectorizers that are fitted to the same documents."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from kernel_pipeline.data.vocabulary import Vocabulary, VocabularyOptions, Weighting, fit_vocabulary
from kernel_pipeline.tasks.arrays import Floats, Integers

ROWS = 60
WORDS = 40
SUBSET = np.arange(5, ROWS, 3)


def texts() -> list[str]:
    """Return documents of a few words whose frequencies differ; the last words occur in few of them."""
    rng = np.random.default_rng(0)
    chances = 0.8 ** np.arange(WORDS)
    words = [f"w{number:02}" for number in range(WORDS)]
    return [" ".join(rng.choice(words, rng.integers(1, 25), p=chances / chances.sum())) for _ in range(ROWS)]


def all_counts() -> tuple[scipy.sparse.csr_array, list[str]]:
    vectorizer = CountVectorizer()
    counts = scipy.sparse.csr_array(vectorizer.fit_transform(texts()), dtype=np.float64)
    return counts, vectorizer.get_feature_names_out().tolist()


def by_name(matrix: Any, names: list[str]) -> dict[str, list[float]]:
    return dict(zip(names, matrix.toarray().T.tolist(), strict=True))


def reference(weighting: Weighting, rows: Integers, **options: Any) -> dict[str, list[float]]:
    """Return the columns of all documents by word, from a vectorizer of scikit-learn fitted to the given rows."""
    documents = texts()
    vectorizer = (
        TfidfVectorizer(**options)
        if weighting == "tf-idf"
        else CountVectorizer(binary=weighting == "binary", **options)
    ).fit([documents[row] for row in rows])
    return by_name(vectorizer.transform(documents), vectorizer.get_feature_names_out().tolist())


def found(vocabulary: Vocabulary) -> dict[str, list[float]]:
    counts, words = all_counts()
    return by_name(vocabulary.apply(counts), [words[column] for column in vocabulary.columns])


def assert_equal(vocabulary: Vocabulary, expected: dict[str, list[float]]) -> None:
    columns = found(vocabulary)
    assert set(columns) == set(expected)
    for word, values in expected.items():
        np.testing.assert_allclose(columns[word], values, rtol=1e-14, atol=0)


@pytest.mark.parametrize("rows", [None, SUBSET])
@pytest.mark.parametrize("min_df", [1, 4, 0.25])
@pytest.mark.parametrize("weighting", ["counts", "binary", "tf-idf"])
def test_words_and_weights_are_those_of_the_vectorizers(
    weighting: Weighting, min_df: int | float, rows: Integers | None
) -> None:
    counts, _ = all_counts()
    vocabulary = fit_vocabulary(counts, VocabularyOptions(weighting, min_df), rows)
    expected = reference(weighting, np.arange(ROWS) if rows is None else rows, min_df=min_df)
    assert (len(expected) < counts.shape[1]) == (rows is not None or min_df != 1)
    assert_equal(vocabulary, expected)


def frequencies(weighting: Weighting, rows: Integers) -> Floats:
    counts = all_counts()[0].toarray()[rows]
    return np.asarray((counts > 0 if weighting == "binary" else counts).sum(axis=0), np.float64)


@pytest.mark.parametrize("rows", [np.arange(ROWS), SUBSET])
@pytest.mark.parametrize("weighting", ["counts", "binary", "tf-idf"])
def test_the_most_frequent_words_are_those_of_the_vectorizers(weighting: Weighting, rows: Integers) -> None:
    """Compare only sizes at which no word is tied with the last one, since scikit-learn may choose any of them."""
    counts, _ = all_counts()
    totals = np.sort(frequencies(weighting, rows))[::-1]
    sizes = [size for size in range(1, 25) if totals[size - 1] > totals[size]]
    assert len(sizes) > 5
    for size in sizes:
        vocabulary = fit_vocabulary(counts, VocabularyOptions(weighting, top=size), rows)
        assert_equal(vocabulary, reference(weighting, rows, max_features=size))


def test_words_are_in_decreasing_frequency_and_ties_in_column_order() -> None:
    counts, _ = all_counts()
    totals = frequencies("counts", SUBSET)
    columns = fit_vocabulary(counts, VocabularyOptions(), SUBSET).columns
    assert columns.tolist() == sorted(np.flatnonzero(totals), key=lambda column: (-totals[column], column))


def test_the_most_frequent_word_may_differ_between_counts_and_binary() -> None:
    counts = scipy.sparse.csr_array([[5.0, 1.0], [0.0, 1.0]])
    assert fit_vocabulary(counts, VocabularyOptions("counts", top=1)).columns.tolist() == [0]
    assert fit_vocabulary(counts, VocabularyOptions("binary", top=1)).columns.tolist() == [1]


def test_a_document_without_a_word_of_the_vocabulary_is_zero() -> None:
    counts = scipy.sparse.csr_array([[5.0, 0.0], [0.0, 1.0]])
    vocabulary = fit_vocabulary(counts, VocabularyOptions("tf-idf", top=1))
    assert vocabulary.apply(counts).toarray().tolist() == [[1.0], [0.0]]


@pytest.mark.parametrize("weighting", ["counts", "binary", "tf-idf"])
def test_a_vocabulary_may_be_empty(weighting: Weighting) -> None:
    counts, _ = all_counts()
    vocabulary = fit_vocabulary(counts, VocabularyOptions(weighting, min_df=ROWS + 1))
    assert vocabulary.apply(counts).shape == (ROWS, 0)
