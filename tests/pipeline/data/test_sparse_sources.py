import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE
from kernel_pipeline.data.prepared import PreparedDataset, load_samples
from kernel_pipeline.data.raw_table import RawTable, read_source
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import FEATURES, LABELS, config_values, load, parsed, put

# Words and bigrams of the reviews of one domain, and their ratings; `the` is there 6 times, `it` 4, `a` 3.
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

# Nine documents of two classes.
DOCUMENTS = [
    "ham The cat sat.",
    "spam buy the CAT now",
    "ham a cat and a dog",
    "spam now now now",
    "ham dog sat",
    "spam buy dog food now",
    "ham The dog",
    "spam buy buy",
    "ham cat food",
]
LIBSVM = "".join(f"{1 if i % 2 else -1} 1:{i} 2:{2 * i % 5}\n" for i in range(9))
RANK_ONE = [{"family": "rank-one"}]


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


def values(source: str, features: str = "bigrams", top: int | None = None, **fields: Any) -> dict[str, Any]:
    family = {"family": "rank-one", "features": features} | ({} if top is None else {"top": top})
    of_source = {"domain": "books", "path": "sentiment"} if source == "sentiment" else {"path": "words.txt"}
    dataset = {"name": "things", "task": "classification", "source": source, "kernels": [family], **of_source}
    return config_values() | {"dataset": [dataset | fields]}


def read(folder: Path, source: str, features: str = "bigrams", top: int | None = None, **fields: Any) -> RawTable:
    dataset = parsed(values(source, features, top, **fields)).dataset[0]
    return read_source(dataset, folder, 0)


def ready(
    folder: Path, source: str, features: str = "bigrams", top: int | None = None, **fields: Any
) -> PreparedDataset:
    config = parsed(values(source, features, top, **fields))
    return load_samples(config, config.dataset[0], folder)


def refused(folder: Path, source: str, features: str = "bigrams", top: int | None = None, **fields: Any) -> str:
    """What is said of documents that must not be accepted."""
    with pytest.raises(DataError) as caught:
        ready(folder, source, features, top, **fields)
    assert str(caught.value).startswith("dataset 'things': ")
    assert caught.value.__cause__ is None
    return str(caught.value)


def filled(features: Floats | scipy.sparse.csr_array) -> Floats:
    """Features that must be sparse, with their zeros; they must also be in canonical form."""
    assert isinstance(features, scipy.sparse.csr_array)
    assert features.has_canonical_format
    assert (features.data != 0).all()
    assert features.dtype == np.float64
    return features.toarray()


def counted(lines: list[str], names: list[str]) -> list[list[int]]:
    """Counts of words in reviews, the plain way."""
    pairs = [[token.rpartition(":") for token in line.split(" ")] for line in lines]
    return [[{word: int(count) for word, _, count in line}.get(name, 0) for name in names] for line in pairs]


# Reviews


@pytest.mark.parametrize(("features", "names"), [("unigrams", UNIGRAMS), ("bigrams", BIGRAMS)])
def test_reviews_give_counts_by_decreasing_frequency_then_by_text(
    features: str, names: list[str], tmp_path: Path
) -> None:
    put_reviews(tmp_path)
    table = read(tmp_path, "sentiment", features, missing="drop")
    assert table.names == names
    np.testing.assert_array_equal(filled(table.features), counted(POSITIVE + NEGATIVE, names))
    assert table.target.tolist() == [5, 4, 4, 5, 1, 2, 1, 2]
    assert table.target.dtype == np.float64
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


def test_a_word_that_is_twice_in_a_line_is_counted_twice(tmp_path: Path) -> None:
    put_reviews(tmp_path, ["a_b:1 c_d:1 a_b:2", *POSITIVE[1:]])
    table = read(tmp_path, "sentiment")
    assert filled(table.features)[0, table.names.index("a_b")] == 3


def test_ratings_are_learned_and_told_apart(tmp_path: Path) -> None:
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


def test_reviews_that_are_all_praised_alike(tmp_path: Path) -> None:
    """Not every rating need be there."""
    put_reviews(tmp_path, ratings={"positive": ["5"] * 4, "negative": ["1"] * 4})
    target = ready(tmp_path, "sentiment").targets["classification"]
    assert sorted(target) == [-1] * 4 + [1] * 4


def test_a_sample_of_reviews(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    samples = ready(tmp_path, "sentiment", rows=7)
    assert samples.features.shape == (7, len(BIGRAMS))
    assert len(set(samples.order)) == 7


def test_a_missing_folder_says_where_it_was_looked_for(tmp_path: Path) -> None:
    text = refused(tmp_path, "sentiment")
    for word in ("no folder", str(tmp_path / "sentiment" / "processed_acl"), "--data-dir", DATA_DIR_VARIABLE):
        assert word in text


def test_an_unknown_domain_lists_the_known_ones(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    put_reviews(tmp_path, domain="dvd")
    for domain in ("boks", "..", "books/.."):
        text = refused(tmp_path, "sentiment", domain=domain)
        assert f"domain = {domain!r}" in text
        assert text.endswith("there are: books, dvd")


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
def test_ratings_and_reviews_must_be_as_many(more: list[str], tmp_path: Path) -> None:
    ratings = RATINGS["positive"][:3] + more * 2
    put_reviews(tmp_path, ratings=RATINGS | {"positive": ratings})
    text = refused(tmp_path, "sentiment")
    for word in (f"books_positive.txt has {len(ratings)} ratings", "positive.review.gz has 4 reviews", "same order"):
        assert word in text


@pytest.mark.parametrize("rating", ["good", "", "3.0", "1.0", "nan"])
def test_a_rating_that_cannot_be(rating: str, tmp_path: Path) -> None:
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


def test_more_words_than_there_are(tmp_path: Path) -> None:
    put_reviews(tmp_path)
    text = refused(tmp_path, "sentiment", top=7)
    assert text.endswith(
        "top = 7, but there are only 6 bigrams; set top to at most this number, or remove it to use all of them"
    )
    assert "only 8 unigrams" in refused(tmp_path, "sentiment", "unigrams", top=9)


def test_words_of_which_none_is_left_are_a_constant_column(tmp_path: Path) -> None:
    """A document may have none of the words that are kept; it is a row of zeros."""
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


# Files of text


def put_documents(folder: Path, lines: list[str], name: str = "words.txt") -> Path:
    return put(folder, "".join(f"{line}\n" for line in lines), name)


@pytest.mark.parametrize("name", ["words.txt", "words.txt.gz"])
def test_a_file_of_documents(name: str, tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS, name)
    table = read(tmp_path, "text", "unigrams", path=name)
    assert table.names == ["now", "buy", "cat", "dog", "the", "food", "sat", "and"]
    assert filled(table.features)[:4].tolist() == [
        [0, 0, 1, 0, 1, 0, 1, 0],
        [1, 1, 1, 0, 1, 0, 0, 0],
        [0, 0, 1, 1, 0, 0, 0, 1],
        [3, 0, 0, 0, 0, 0, 0, 0],
    ]
    assert table.target.tolist() == ["ham", "spam"] * 4 + ["ham"]
    assert table.target.index.tolist() == table.rows.tolist() == list(range(9))


def test_bigrams_of_documents(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    table = read(tmp_path, "text", "bigrams", 4)
    assert table.names == ["now now", "the cat", "and dog", "buy buy"]
    assert filled(table.features)[3].tolist() == [2, 0, 0, 0]
    assert filled(table.features)[4].tolist() == [0, 0, 0, 0]
    assert table.left_out == 0


def test_documents_made_ready(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    samples = ready(tmp_path, "text", "unigrams", 3, positive=["ham"])
    assert samples.kernels == ("now", "buy", "cat")
    np.testing.assert_array_equal(samples.targets["classification"], np.where(samples.order % 2, -1, 1))
    table = read(tmp_path, "text", "unigrams", 3)
    np.testing.assert_array_equal(filled(samples.features), filled(table.features)[samples.order])
    assert samples.fingerprint == ready(tmp_path, "text", "unigrams", 3, positive=["ham"]).fingerprint


def test_fingerprint_sees_words_counts_and_columns_of_documents(tmp_path: Path) -> None:
    prints = set()
    for old, new in (("", ""), ("food", "fuel"), ("sat.", "sat sat"), ("ham dog sat", "spam dog sat")):
        put_documents(tmp_path, [line.replace(old, new) for line in DOCUMENTS])
        prints |= {ready(tmp_path, "text", "unigrams", top).fingerprint for top in (3, None)}
    assert len(prints) == 2 * 4 - 2  # the three most frequent words are the same, but for the label


def test_numbers_as_labels_are_learned(tmp_path: Path) -> None:
    put_documents(tmp_path, [f"{i / 2} {line}" for i, line in enumerate(DOCUMENTS)])
    samples = ready(tmp_path, "text", "unigrams", task="regression")
    np.testing.assert_array_equal(samples.targets["regression"], samples.order / 2)


def test_texts_have_accents_and_may_begin_with_a_mark(tmp_path: Path) -> None:
    put(tmp_path, b"\xef\xbb\xbf" + "".join(f"{line} d\xe9j\xe0\n" for line in DOCUMENTS).encode(), "words.txt")
    table = read(tmp_path, "text", "unigrams", 1)
    assert table.names == ["déjà"]
    assert set(table.target) == {"ham", "spam"}


def test_documents_without_a_word_are_refused_or_left_out(tmp_path: Path) -> None:
    path = put_documents(tmp_path, [*DOCUMENTS[:3], "spam", "ham ?", *DOCUMENTS[3:]])
    text = refused(tmp_path, "text", "unigrams")
    for word in ("2 of 11 documents contain no unigrams", f"in line 4 of {path}", "missing = 'drop'"):
        assert word in text
    table = read(tmp_path, "text", "unigrams", missing="drop")
    assert table.left_out == 2
    assert table.rows.tolist() == table.target.index.tolist() == [0, 1, 2, *range(5, 11)]
    assert filled(table.features).any(axis=1).all()


def test_a_label_that_is_no_number_is_named_by_its_line(tmp_path: Path) -> None:
    put_documents(tmp_path, [*(f"{i} {line}" for i, line in enumerate(DOCUMENTS[:8])), "1", "x ham cat food"])
    text = refused(tmp_path, "text", "unigrams", task="regression", missing="drop")
    assert "it contains 'x' in row 10" in text


@pytest.mark.parametrize("label", ["inf", "-1e200"])
def test_a_label_that_is_too_large(label: str, tmp_path: Path) -> None:
    path = put_documents(tmp_path, ["1 the cat", f"{label} the dog", "2 the cow"])
    text = refused(tmp_path, "text", "unigrams", task="regression")
    for word in (f"{path}, line 2", label, "below 1e+150"):
        assert word in text


def test_a_blank_line_has_no_label(tmp_path: Path) -> None:
    path = put_documents(tmp_path, [*DOCUMENTS[:2], " ", *DOCUMENTS[2:]])
    assert f"{path}, line 3 is blank; a line must contain a label, followed by the text" in refused(tmp_path, "text")


def test_documents_that_are_not_utf8(tmp_path: Path) -> None:
    path = put(tmp_path, b"ham the cat\nspam caf\xe9\n", "words.txt")
    text = refused(tmp_path, "text")
    for word in (f"{path}, line 2", "utf-8"):
        assert word in text


@pytest.mark.parametrize("name", ["words.txt", "words.txt.gz"])
def test_an_empty_file_of_documents(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, "", name)
    assert f"{path} is empty" in refused(tmp_path, "text", path=name)


@pytest.mark.parametrize("path", ["absent.txt", "."])
def test_a_missing_file_of_documents(path: str, tmp_path: Path) -> None:
    text = refused(tmp_path, "text", path=path)
    for word in ("there is no file", str(tmp_path / path), "--data-dir", DATA_DIR_VARIABLE):
        assert word in text


def test_a_broken_gz_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "words.txt.gz"
    for content in (b"ham the cat\n", gzip.compress(b"ham the cat\n" * 100)[:30]):
        path.write_bytes(content)
        assert f"cannot read {path}" in refused(tmp_path, "text", path=path.name)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    path = put_documents(tmp_path, DOCUMENTS)
    monkeypatch.setattr(Path, "read_bytes", denied)  # a test may run as root, whom no mode of a file stops
    text = refused(tmp_path, "text")
    for word in (f"cannot read {path}", "Permission denied"):
        assert word in text


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_documents_without_any_bigram(missing: str, tmp_path: Path) -> None:
    path = put_documents(tmp_path, ["ham cat", "spam dog"] * 4)
    assert f"there are no bigrams in {path}" in refused(tmp_path, "text", missing=missing)
    put_documents(tmp_path, ["ham", "spam"] * 4)
    assert f"there are no unigrams in {path}" in refused(tmp_path, "text", "unigrams", missing=missing)


def test_more_words_than_documents_have(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    assert "top = 9, but there are only 8 unigrams" in refused(tmp_path, "text", "unigrams", top=9)


def test_documents_that_are_all_alike(tmp_path: Path) -> None:
    put_documents(tmp_path, [f"{'ham' if i % 2 else 'spam'} the cat" for i in range(9)])
    assert "every feature column is constant" in refused(tmp_path, "text")


# libsvm


@pytest.mark.parametrize("name", ["things.libsvm", "things.libsvm.gz"])
def test_libsvm_of_rank_one_kernels_stays_sparse(name: str, tmp_path: Path) -> None:
    put(tmp_path, LIBSVM, name)
    samples = load(tmp_path, path=name, format="libsvm", kernels=RANK_ONE)
    assert samples.kernels == ("0", "1")
    np.testing.assert_array_equal(filled(samples.features), FEATURES[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order])


def test_libsvm_of_gaussian_kernels_does_not(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM, "things.libsvm")
    sparse = load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    dense = load(tmp_path, path="things.libsvm", format="libsvm")
    assert isinstance(dense.features, np.ndarray)
    np.testing.assert_array_equal(filled(sparse.features), dense.features)
    np.testing.assert_array_equal(sparse.order, dense.order)


def test_libsvm_columns_without_a_number_are_left_out_and_the_others_keep_their_names(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM + "1 7:0 9:3\n", "things.libsvm")
    samples = load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    assert samples.kernels == ("0", "1", "8")
    assert samples.features.shape == (10, 3)
    np.testing.assert_array_equal(filled(samples.features)[:, 2], np.where(samples.order == 9, 3.0, 0.0))


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf", "1e200"])
@pytest.mark.parametrize("line", ["1 1:2 2:{}", "{} 1:2 2:3"], ids=["feature", "target"])
def test_libsvm_numbers_that_are_not_usable(line: str, cell: str, tmp_path: Path) -> None:
    put(tmp_path, LIBSVM + line.format(cell) + "\n", "things.libsvm")
    dataset: dict[str, Any] = {"path": "things.libsvm", "format": "libsvm", "kernels": RANK_ONE}
    with pytest.raises(DataError) as caught:
        load(tmp_path, **dataset)
    for word in ("dataset 'things'", "row 10", f"found {float(cell)}", "1 of 10 rows", "missing = 'drop'"):
        assert word in str(caught.value)
    samples = load(tmp_path, **dataset, missing="drop")
    assert samples.left_out == 1
    assert sorted(samples.order) == list(range(9))
    np.testing.assert_array_equal(filled(samples.features), FEATURES[samples.order])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["0 rows"]),
        ("1,2,3\n", ["cannot read", "'libsvm'"]),
        ("1 2:3 1:2\n", ["cannot read", "'libsvm'", "sorted"]),
        ("1\n-1\n" * 4, ["every feature column is constant"]),
        ("1 1:5\n-1 1:5\n" * 4, ["every feature column is constant"]),
        ("1 1:5\n" * 8, ["one class"]),
    ],
)
def test_libsvm_files_that_cannot_be_used(content: str, words: list[str], tmp_path: Path) -> None:
    put(tmp_path, content, "things.libsvm")
    with pytest.raises(DataError) as caught:
        load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    for word in ("dataset 'things'", *words):
        assert word in str(caught.value)


def test_a_missing_or_broken_libsvm_file(tmp_path: Path) -> None:
    dataset: dict[str, Any] = {"path": "things.gz", "format": "libsvm", "kernels": RANK_ONE}
    with pytest.raises(DataError, match=rf"there is no file .*things\.gz.*{DATA_DIR_VARIABLE}"):
        load(tmp_path, **dataset)
    (tmp_path / "things.gz").write_text(LIBSVM)
    with pytest.raises(DataError, match=r"cannot read .*things\.gz.*Not a gzipped file"):
        load(tmp_path, **dataset)
