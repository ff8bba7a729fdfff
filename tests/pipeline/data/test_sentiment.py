"""The source `sentiment`: reviews with ratings."""

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE
from tests.helpers.build import put
from tests.pipeline.data.documents import filled, read, ready, refused

# Words and bigrams of the reviews of one domain, and their ratings; `the` occurs 6 times, `it` 4 times, `a` 3 times.
POSITIVE = ["the:2 good:1 the_good:1 it:1", "good:1 it:3 good_it:2 ratio:8:1", "the:1 a:1 the_a:1", "the:1 the_good:1"]


NEGATIVE = [
    "bad:1 the:1 bad_the:1",
    "a:2 bad:1 a_bad:1 caf\xe9:1",
    "bad:1 the:1 bad_the:2",
    "bad:1 worse:1 bad_worse:1",
]


UNIGRAMS = ["the", "bad", "it", "a", "good", "café", "ratio:8", "worse"]


BIGRAMS = ["bad_the", "good_it", "the_good", "a_bad", "bad_worse", "the_a"]


RATINGS = {"positive": ["5.0", "4.0", "4.0", "5.0"], "negative": ["1.0", "2.0", "1.0", "2.0"]}


def put_reviews(
    folder: Path,
    positive: list[str] = POSITIVE,
    negative: list[str] = NEGATIVE,
    ratings: dict[str, list[str]] = RATINGS,
    domain: str = "books",
) -> Path:
    """Write a domain of reviews; each line gets its label."""
    reviews = folder / "sentiment" / "processed_acl" / domain
    reviews.mkdir(parents=True)
    (folder / "sentiment" / "ratings").mkdir(exist_ok=True)
    for side, lines in (("positive", positive), ("negative", negative)):
        text = "".join(f"{line} #label#:{side}\n" for line in lines)
        put(reviews, text.encode("latin-1"), f"{side}.review.gz")
        put(folder / "sentiment" / "ratings", "".join(f"{r}\n" for r in ratings[side]), f"{domain}_{side}.txt")
    return folder / "sentiment"


def counted(lines: list[str], names: list[str]) -> list[list[int]]:
    """Return the counts of words in reviews, computed without sparse matrices."""
    pairs = [[token.rpartition(":") for token in line.split(" ")] for line in lines]
    return [[{word: int(count) for word, _, count in line}.get(name, 0) for name in names] for line in pairs]


@pytest.mark.parametrize(("features", "names"), [("unigrams", UNIGRAMS), ("bigrams", BIGRAMS)])
def test_reviews_give_counts_by_decreasing_frequency_then_by_text(
    features: str, names: list[str], tmp_path: Path
) -> None:
    put_reviews(tmp_path)
    table = read(tmp_path, "sentiment", features, missing="drop")
    assert table.names == names
    np.testing.assert_array_equal(filled(table.features), counted(POSITIVE + NEGATIVE, names))
    assert table.target.to_numpy().tolist() == [5, 4, 4, 5, 1, 2, 1, 2]
    assert table.target.to_numpy().dtype == np.float64
    assert table.rows.tolist() == list(range(8))
    assert table.left_out == 0


@pytest.mark.parametrize(("features", "names"), [("unigrams", UNIGRAMS), ("bigrams", BIGRAMS)])
def test_top_keeps_the_most_frequent_and_every_document(features: str, names: list[str], tmp_path: Path) -> None:
    put_reviews(tmp_path)
    whole = filled(read(tmp_path, "sentiment", features).features)
    for top in range(1, len(names) + 1):
        table = read(tmp_path, "sentiment", features, top)
        assert table.names == names[:top]
        np.testing.assert_array_equal(filled(table.features), whole[:, :top])


def test_counts_of_a_repeated_word_are_added(tmp_path: Path) -> None:
    put_reviews(tmp_path, ["a_b:1 c_d:1 a_b:2", *POSITIVE[1:]])
    table = read(tmp_path, "sentiment")
    assert filled(table.features)[0, table.names.index("a_b")] == 3


def test_ratings_are_targets_of_regression_and_classification(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    samples = ready(tmp_path, "sentiment", task=["regression", "classification"])
    ratings = np.array([5, 4, 4, 5, 1, 2, 1, 2])
    np.testing.assert_array_equal(samples.targets["regression"], ratings[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], np.where(samples.order < 4, 1, -1))
    assert samples.kernels == tuple(BIGRAMS)
    np.testing.assert_array_equal(
        filled(samples.features), np.array(counted(POSITIVE + NEGATIVE, BIGRAMS))[samples.order]
    )
    assert (np.diff(samples.fold) >= 0).all()


def test_reviews_with_equal_ratings_in_each_class(tmp_path: Path) -> None:
    """Not every rating has to occur."""
    put_reviews(tmp_path, ratings={"positive": ["5"] * 4, "negative": ["1"] * 4})
    target = ready(tmp_path, "sentiment").targets["classification"]
    assert sorted(target) == [-1] * 4 + [1] * 4


def test_a_sample_of_reviews(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    samples = ready(tmp_path, "sentiment", rows=7)
    assert samples.features.shape == (7, len(BIGRAMS))
    assert len(set(samples.order)) == 7


def test_the_message_about_a_missing_folder_names_its_path(tmp_path: Path) -> None:
    text = refused(tmp_path, "sentiment")
    for word in ("no folder", str(tmp_path / "sentiment" / "processed_acl"), "--data-dir", DATA_DIR_VARIABLE):
        assert word in text


def test_an_unknown_domain_lists_the_known_ones(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    put_reviews(tmp_path, domain="dvd")
    for domain in ("boks", "..", "books/.."):
        text = refused(tmp_path, "sentiment", domain=domain)
        assert f"domain = {domain!r}" in text
        assert text.endswith("Available: books, dvd")


@pytest.mark.parametrize("name", ["processed_acl/books/negative.review.gz", "ratings/books_positive.txt"])
def test_a_missing_file_of_reviews(name: str, tmp_path: Path) -> None:
    path = put_reviews(tmp_path) / name
    path.unlink()
    text = refused(tmp_path, "sentiment")
    for word in ("there is no file", str(path), "--data-dir", DATA_DIR_VARIABLE):
        assert word in text


@pytest.mark.parametrize("name", ["processed_acl/books/negative.review.gz", "ratings/books_positive.txt"])
def test_an_empty_file_of_reviews(name: str, tmp_path: Path) -> None:
    path = put_reviews(tmp_path) / name
    put(path.parent, "", path.name)
    assert f"{path} is empty" in refused(tmp_path, "sentiment")


@pytest.mark.parametrize("more", [["5.0"], []])
def test_ratings_and_reviews_must_have_the_same_number(more: list[str], tmp_path: Path) -> None:
    ratings = RATINGS["positive"][:3] + more * 2
    put_reviews(tmp_path, ratings=RATINGS | {"positive": ratings})
    text = refused(tmp_path, "sentiment")
    for word in (f"books_positive.txt has {len(ratings)} ratings", "positive.review.gz has 4 reviews", "same order"):
        assert word in text


@pytest.mark.parametrize("rating", ["good", "", "3.0", "1.0", "nan"])
def test_an_invalid_rating(rating: str, tmp_path: Path) -> None:
    put_reviews(tmp_path, ratings=RATINGS | {"positive": ["5.0", rating, "4.0", "5.0"]})
    text = refused(tmp_path, "sentiment")
    for word in ("books_positive.txt, line 2", repr(rating), "4 or 5"):
        assert word in text


@pytest.mark.parametrize(
    "token", ["good", "good:", ":3", "good:x", "good:0", "good:-1", "good:1.5", "good:1" + "0" * 15]
)
def test_a_broken_count(token: str, tmp_path: Path) -> None:
    put_reviews(tmp_path, negative=[*NEGATIVE[:2], f"a_b:1 {token} c:1", NEGATIVE[3]])
    text = refused(tmp_path, "sentiment")
    for word in ("negative.review.gz, line 3", repr(token), "word:count"):
        assert word in text


@pytest.mark.parametrize("line", ["a_b:1 c:2 #label#:negative", "a_b:1 c:2", ""])
def test_a_review_without_its_label(line: str, tmp_path: Path) -> None:
    root = put_reviews(tmp_path)
    put(root / "processed_acl" / "books", f"a_b:1 #label#:positive\n{line}\n", "positive.review.gz")
    text = refused(tmp_path, "sentiment")
    for word in ("positive.review.gz, line 2", repr(line.split(" ")[-1]), "'#label#:positive'"):
        assert word in text


def test_reviews_that_are_not_compressed_or_cut_short(tmp_path: Path) -> None:
    path = put_reviews(tmp_path) / "processed_acl" / "books" / "positive.review.gz"
    whole = path.read_bytes()
    for content in (b"a_b:1 #label#:positive\n", whole[:40], whole[:20] + b"\xff" * 20 + whole[40:]):
        path.write_bytes(content)
        assert f"cannot read {path}" in refused(tmp_path, "sentiment")


def test_reviews_without_a_word_are_refused_or_left_out(tmp_path: Path) -> None:
    root = put_reviews(
        tmp_path, negative=["bad:1", "a:2 bad_:1", "", *NEGATIVE], ratings=RATINGS | {"negative": ["1"] * 7}
    )
    text = refused(tmp_path, "sentiment")
    first = root / "processed_acl" / "books" / "negative.review.gz"
    for word in ("2 of 11 documents contain no bigrams", f"in line 1 of {first}", "missing = 'drop'"):
        assert word in text
    table = read(tmp_path, "sentiment", missing="drop")
    assert table.left_out == 2
    assert table.rows.tolist() == [0, 1, 2, 3, 5, 7, 8, 9, 10]
    assert len(table.target) == table.features.shape[0] == 9
    assert read(tmp_path, "sentiment", "unigrams", missing="drop").left_out == 1


def test_reviews_without_any_bigram(tmp_path: Path) -> None:
    put_reviews(tmp_path, ["good:1"] * 4, ["bad:1"] * 4)
    for missing in ("error", "drop"):
        text = refused(tmp_path, "sentiment", missing=missing)
        for word in ("there are no bigrams in", "positive.review.gz", "negative.review.gz"):
            assert word in text


def test_more_words_than_available(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    table = read(tmp_path, "sentiment", top=7)
    assert table.names == BIGRAMS
    assert table.notes == ("top = 7, but there are only 6 bigrams; all of them are used",)
    assert read(tmp_path, "sentiment", top=6).notes == ()
    assert "only 8 unigrams" in read(tmp_path, "sentiment", "unigrams", top=9).notes[0]


def test_a_document_without_a_chosen_word_is_a_row_of_zeros(tmp_path: Path) -> None:
    """A document that contains none of the chosen words is kept as a row of zeros."""
    put_reviews(tmp_path)
    samples = ready(tmp_path, "sentiment", top=1)
    assert samples.left_out == 0
    assert filled(samples.features).ravel().tolist() == [{4: 1, 6: 2}.get(i, 0) for i in samples.order]


def test_the_real_reviews(data_dir: Path) -> None:
    table = read(data_dir, "sentiment", "bigrams", 4000)
    assert table.features.shape == (2000, 4000)
    assert table.names[:3] == ["this_book", "the_book", "book_is"]
    totals = np.asarray(filled(table.features).sum(axis=0))
    assert table.names == sorted(table.names, key=lambda name: (-totals[table.names.index(name)], name))
    with gzip.open(data_dir / "sentiment/processed_acl/books/negative.review.gz", "rt", encoding="latin-1") as file:
        words = Counter(dict(token.rsplit(":", 1) for token in file.readline().split(" ")[:-1]))
    row = filled(table.features)[1000]
    assert row.tolist() == [float(words.get(name) or 0) for name in table.names]
    assert Counter(table.target) == {1.0: 538, 2.0: 462, 4.0: 269, 5.0: 731}
