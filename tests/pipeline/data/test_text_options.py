"""Options of documents: which words are counted, and how they are weighted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from kernel_pipeline.data.raw_table import RawTable
from tests.pipeline.data.documents import filled, read, ready, refused
from tests.pipeline.data.test_sentiment import BIGRAMS, NEGATIVE, POSITIVE, UNIGRAMS, counted, put_reviews
from tests.pipeline.data.test_text import DOCUMENTS, put_documents

TEXTS = [line.partition(" ")[2] for line in DOCUMENTS]


def assert_columns_of(vectorizer: Any, table: RawTable, texts: list[str] = TEXTS) -> None:
    """Check that the columns are those of a vectorizer, in any order."""
    expected = vectorizer.fit_transform(texts).toarray()
    names = vectorizer.get_feature_names_out().tolist()
    assert sorted(table.names) == names
    found = filled(table.features)[:, [table.names.index(name) for name in names]]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("features", "ngrams"),
    [
        ("unigrams", (1, 1)),
        ("bigrams", (2, 2)),
        (["unigrams"], (1, 1)),
        (["unigrams", "bigrams"], (1, 2)),
        (["bigrams", "unigrams"], (1, 2)),
    ],
)
def test_unigrams_bigrams_or_both(features: str | list[str], ngrams: tuple[int, int], tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS[:3])
    table = read(tmp_path, "text", features)
    assert_columns_of(CountVectorizer(ngram_range=ngrams), table, TEXTS[:3])


@pytest.mark.parametrize(
    ("options", "vectorizer"),
    [
        ({"counts": "counts"}, CountVectorizer()),
        ({"counts": "binary"}, CountVectorizer(binary=True)),
        ({"counts": "tf-idf"}, TfidfVectorizer()),
        ({"min_df": 3}, CountVectorizer(min_df=3)),
        ({"min_df": 0.4}, CountVectorizer(min_df=0.4)),
        ({"lowercase": False}, CountVectorizer(lowercase=False)),
        ({"lowercase": True}, CountVectorizer()),
        ({"stop_words": "english"}, CountVectorizer(stop_words="english")),
        ({"stop_words": ["the", "dog"]}, CountVectorizer(stop_words=["the", "dog"])),
        (
            {"counts": "tf-idf", "min_df": 2, "stop_words": ["dog"], "lowercase": False},
            TfidfVectorizer(min_df=2, stop_words=["dog"], lowercase=False),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_options_have_the_meaning_of_scikit_learn(options: dict[str, Any], vectorizer: Any, tmp_path: Path) -> None:
    put_documents(tmp_path, [*DOCUMENTS, "ham cat"])
    table = read(tmp_path, "text", "unigrams", **{"missing": "drop"} | options)
    texts = [[*TEXTS, "cat"][row] for row in table.rows]
    assert_columns_of(vectorizer, table, texts)
    assert table.notes == ()


def test_unigrams_and_bigrams_with_options_as_a_prepared_dataset(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    options = {"counts": "tf-idf", "min_df": 2}
    samples = ready(tmp_path, "text", ["unigrams", "bigrams"], 4, **options)
    # Frequencies 7, 4, 4, 4, and 3 of 'the'; of the bigrams, 'now now' occurs in one document only.
    assert samples.kernels == ("now", "buy", "cat", "dog")
    expected = TfidfVectorizer(vocabulary=list(samples.kernels)).fit(TEXTS).transform(TEXTS).toarray()
    np.testing.assert_allclose(filled(samples.features), expected[samples.order], rtol=1e-14)


def test_fingerprints_depend_on_every_option(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    options: list[dict[str, Any]] = [
        {},
        {"counts": "binary"},
        {"counts": "tf-idf"},
        {"min_df": 2},
        {"stop_words": "english"},
        {"lowercase": False},
    ]
    assert len(
        {ready(tmp_path, "text", "unigrams", missing="drop", **option).fingerprint for option in options}
    ) == len(options)
    same = ready(tmp_path, "text", ["unigrams"], counts="counts", min_df=1, lowercase=True)
    assert same.fingerprint == ready(tmp_path, "text", "unigrams").fingerprint


def test_stop_words_that_never_occur_are_noted(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    (note,) = ready(tmp_path, "text", "unigrams", stop_words=["The"]).notes[:1]
    assert note.startswith("stop_words: ")
    assert "['the']" in note


def test_stop_words_that_leave_no_word(tmp_path: Path) -> None:
    path = put_documents(tmp_path, ["ham the", "spam a the"] * 4)
    text = refused(tmp_path, "text", "unigrams", stop_words=["the"])
    assert f"there are no unigrams in {path} besides stop_words, which may list too many" in text


def test_documents_of_stop_words_are_refused_or_left_out(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    assert "1 of 9 documents contain no unigrams or bigrams" in refused(
        tmp_path, "text", ["unigrams", "bigrams"], stop_words=["now"]
    )
    assert ready(tmp_path, "text", "unigrams", stop_words=["now"], missing="drop").left_out == 1


@pytest.mark.parametrize("min_df", [9, 0.9])
def test_words_that_are_all_too_rare(min_df: float, tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    text = refused(tmp_path, "text", ["unigrams", "bigrams"], min_df=min_df)
    assert f"min_df = {min_df}, but no unigrams or bigrams occur in that many of the 9 documents" in text


def test_more_words_than_available_are_noted(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    samples = ready(tmp_path, "text", "unigrams", 9)
    assert "top = 9, but there are only 8 unigrams; all of them are used" in samples.notes
    assert samples.fingerprint == ready(tmp_path, "text", "unigrams").fingerprint


def test_reviews_have_the_same_options(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    both = read(tmp_path, "sentiment", ["unigrams", "bigrams"])
    assert set(both.names) == {*UNIGRAMS, *BIGRAMS}
    counts = np.array(counted(POSITIVE + NEGATIVE, both.names))
    np.testing.assert_array_equal(filled(both.features), counts)

    binary = read(tmp_path, "sentiment", ["unigrams", "bigrams"], counts="binary", min_df=2)
    assert binary.names == ["the", "bad", "a", "bad_the", "good", "it", "the_good"]  # in 5, 4, 2, ... reviews
    np.testing.assert_array_equal(filled(binary.features), counts[:, [both.names.index(n) for n in binary.names]] > 0)


def test_a_word_that_is_repeated_in_a_review_counts_as_one_document(tmp_path: Path) -> None:
    put_reviews(tmp_path, ["a_b:1 c_d:1 a_b:2", *POSITIVE[1:]])
    table = read(tmp_path, "sentiment", counts="binary")
    assert filled(table.features)[0, table.names.index("a_b")] == 1
    assert "a_b" not in read(tmp_path, "sentiment", min_df=2, missing="drop").names
