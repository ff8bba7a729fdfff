"""The source `text`: a file with one document per line."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE
from tests.helpers.build import put
from tests.pipeline.data.documents import filled, read, ready, refused

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
    assert table.target.to_numpy().tolist() == ["ham", "spam"] * 4 + ["ham"]
    assert table.target.index.tolist() == table.rows.tolist() == list(range(9))


def test_bigrams_of_documents(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    table = read(tmp_path, "text", "bigrams", 4)
    assert table.names == ["now now", "the cat", "and dog", "buy buy"]
    assert filled(table.features)[3].tolist() == [2, 0, 0, 0]
    assert filled(table.features)[4].tolist() == [0, 0, 0, 0]
    assert table.left_out == 0


def test_documents_as_a_prepared_dataset(tmp_path: Path) -> None:
    put_documents(tmp_path, DOCUMENTS)
    samples = ready(tmp_path, "text", "unigrams", 3, positive=["ham"])
    assert samples.kernels == ("now", "buy", "cat")
    np.testing.assert_array_equal(samples.targets["classification"], np.where(samples.order % 2, -1, 1))
    table = read(tmp_path, "text", "unigrams", 3)
    np.testing.assert_array_equal(filled(samples.features), filled(table.features)[samples.order])
    assert samples.fingerprint == ready(tmp_path, "text", "unigrams", 3, positive=["ham"]).fingerprint


def test_fingerprint_depends_on_words_counts_and_labels_of_documents(tmp_path: Path) -> None:
    prints = set()
    for old, new in (("", ""), ("food", "fuel"), ("sat.", "sat sat"), ("ham dog sat", "spam dog sat")):
        put_documents(tmp_path, [line.replace(old, new) for line in DOCUMENTS])
        prints |= {ready(tmp_path, "text", "unigrams", top).fingerprint for top in (3, None)}
    assert len(prints) == 2 * 4 - 2  # the three most frequent words are the same, except for the label


def test_numbers_as_labels_are_learned(tmp_path: Path) -> None:
    put_documents(tmp_path, [f"{i / 2} {line}" for i, line in enumerate(DOCUMENTS)])
    samples = ready(tmp_path, "text", "unigrams", task="regression")
    np.testing.assert_array_equal(samples.targets["regression"], samples.order / 2)


def test_texts_may_contain_accents_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
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


def test_a_label_that_is_not_a_number_is_named_with_its_row(tmp_path: Path) -> None:
    put_documents(tmp_path, [*(f"{i} {line}" for i, line in enumerate(DOCUMENTS[:8])), "1", "x ham cat food"])
    text = refused(tmp_path, "text", "unigrams", task="regression", missing="drop")
    assert "it contains 'x' in data row 10" in text


@pytest.mark.parametrize("label", ["inf", "-1e200"])
def test_a_label_that_is_too_large(label: str, tmp_path: Path) -> None:
    path = put_documents(tmp_path, ["1 the cat", f"{label} the dog", "2 the cow"])
    text = refused(tmp_path, "text", "unigrams", task="regression")
    for word in (f"{path}, line 2", label, "below 1e+150"):
        assert word in text


def test_a_blank_line_has_no_label(tmp_path: Path) -> None:
    path = put_documents(tmp_path, [*DOCUMENTS[:2], " ", *DOCUMENTS[2:]])
    assert f"{path}, line 3 is blank; a line must contain a label, followed by the text" in refused(tmp_path, "text")
    table = read(tmp_path, "text", "unigrams", missing="drop")
    assert table.left_out == 1
    assert table.rows.tolist() == [0, 1, *range(3, 10)]


def test_documents_that_are_not_utf8(tmp_path: Path) -> None:
    path = put(tmp_path, b"ham the cat\nspam caf\xe9\n", "words.txt")
    text = refused(tmp_path, "text")
    for word in (f"{path}, line 2", "utf-8"):
        assert word in text


@pytest.mark.parametrize("name", ["words.txt", "words.txt.gz"])
def test_an_empty_file_of_documents(name: str, tmp_path: Path) -> None:
    path = put(tmp_path, "", name)
    assert f"{path} is empty" in refused(tmp_path, "text", path=name)


def test_a_missing_file_of_documents(tmp_path: Path) -> None:
    text = refused(tmp_path, "text", path="absent.txt")
    for word in ("there is no file", str(tmp_path / "absent.txt"), "--data-dir", DATA_DIR_VARIABLE):
        assert word in text
    assert f"{tmp_path} is a folder, but a file is required" in refused(tmp_path, "text", path=".")


def test_a_broken_gz_of_documents(tmp_path: Path) -> None:
    path = tmp_path / "words.txt.gz"
    for content in (b"ham the cat\n", gzip.compress(b"ham the cat\n" * 100)[:30]):
        path.write_bytes(content)
        assert f"cannot read {path}" in refused(tmp_path, "text", path=path.name)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    path = put_documents(tmp_path, DOCUMENTS)
    monkeypatch.setattr(Path, "read_bytes", denied)  # for root, the mode of a file has no effect
    text = refused(tmp_path, "text")
    for word in (f"cannot read {path}", "Permission denied"):
        assert word in text


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_documents_without_any_bigram(missing: str, tmp_path: Path) -> None:
    path = put_documents(tmp_path, ["ham cat", "spam dog"] * 4)
    assert f"there are no bigrams in {path}" in refused(tmp_path, "text", missing=missing)
    put_documents(tmp_path, ["ham", "spam"] * 4)
    assert f"there are no unigrams in {path}" in refused(tmp_path, "text", "unigrams", missing=missing)


def test_documents_that_are_all_alike(tmp_path: Path) -> None:
    put_documents(tmp_path, [f"{'ham' if i % 2 else 'spam'} the cat" for i in range(9)])
    assert "every feature column is constant" in refused(tmp_path, "text")
