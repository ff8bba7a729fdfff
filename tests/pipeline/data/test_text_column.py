"""Files with a column of documents."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.data.prepared import PreparedDataset
from tests.helpers.build import load, put
from tests.helpers.build import refused as refused_file
from tests.pipeline.data.documents import filled, ready
from tests.pipeline.data.test_text import DOCUMENTS, put_documents

LABELS = [line.split()[0] for line in DOCUMENTS]
TEXTS = [line.partition(" ")[2] for line in DOCUMENTS]
WORDS: list[dict[str, Any]] = [{"family": "rank-one", "features": ["unigrams", "bigrams"], "top": 9}]
TEXT: dict[str, Any] = {"text": "review", "target": "label", "kernels": WORDS}


def table(texts: list[str] = TEXTS, labels: list[str] = LABELS) -> str:
    """Return the content of a csv file with a text column, another column and a label."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["review", "age", "label"])
    writer.writerows([text, 20 + number, label] for number, (text, label) in enumerate(zip(texts, labels, strict=True)))
    return out.getvalue()


def same(one: PreparedDataset, other: PreparedDataset) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.kernels == other.kernels
    np.testing.assert_array_equal(filled(one.features), filled(other.features))


@pytest.mark.parametrize("options", [{}, {"counts": "tf-idf", "min_df": 2, "stop_words": ["dog"], "lowercase": False}])
def test_a_column_of_documents_equals_a_file_of_documents(options: dict[str, Any], tmp_path: Path) -> None:
    put(tmp_path, table())
    put_documents(tmp_path, DOCUMENTS)
    expected = ready(tmp_path, "text", WORDS[0]["features"], WORDS[0]["top"], **options)
    same(load(tmp_path, **TEXT, **options), expected)
    same(load(tmp_path, **TEXT, **options, drop=["age"]), expected)
    same(load(tmp_path, **TEXT | {"text": 0, "target": -1}, **options, header=True), expected)


def test_quotes_commas_and_line_breaks_belong_to_a_document(tmp_path: Path) -> None:
    put(tmp_path, table([f'so, "{text}"\nso' for text in TEXTS]))
    samples = load(tmp_path, **TEXT)
    column = filled(samples.features)[:, samples.kernels.index("so")]
    assert column.tolist() == [2.0] * 9


def test_other_columns_are_not_used_and_noted(tmp_path: Path) -> None:
    put(tmp_path, table())
    note = "column 'age' is not used: the features are the words of the text column 'review'"
    assert note in load(tmp_path, **TEXT).notes
    assert not any("not used" in line for line in load(tmp_path, **TEXT, drop=["age"]).notes)


def test_many_other_columns_are_counted(tmp_path: Path) -> None:
    names = ",".join(f"c{number}" for number in range(8))
    rows = "".join(f"{text},{'1,' * 8}{label}\n" for text, label in zip(TEXTS, LABELS, strict=True))
    put(tmp_path, f"review,{names},label\n{rows}")
    assert load(tmp_path, **TEXT).notes[0].startswith("columns 'c0', 'c1', 'c2', 'c3', 'c4' and 3 more are not used")


def test_gaps_in_text_and_label_are_refused_or_left_out(tmp_path: Path) -> None:
    texts, labels = [*TEXTS], [*LABELS]
    texts[4] = ""
    assert "1 of 9 documents contain no unigrams or bigrams; the first is in row 5" in refused_file(
        tmp_path, table(texts), **TEXT
    )
    labels[2] = ""
    text = refused_file(tmp_path, table(texts, labels), **TEXT)
    assert "target column 'label' is empty in data row 3" in text
    assert text.endswith("drop these rows: missing = 'drop'")
    samples = load(tmp_path, **TEXT, missing="drop")
    assert samples.left_out == 2
    assert sorted(samples.order) == [0, 1, 3, *range(5, 9)]
    np.testing.assert_array_equal(samples.targets["classification"], np.where(samples.order % 2, 1, -1))


def test_rows_after_a_gap_keep_their_number(tmp_path: Path) -> None:
    texts, labels = [*TEXTS], [*LABELS]
    labels[1], texts[4] = "", "?"
    put(tmp_path, table(texts, labels))
    samples = load(tmp_path, **TEXT, missing="drop")
    column = samples.kernels.index("cat")
    assert dict(zip(samples.order, filled(samples.features)[:, column], strict=True))[8] == 1  # "cat food"


def test_numbers_as_labels_and_among_texts(tmp_path: Path) -> None:
    put(tmp_path, table(["12", *TEXTS[1:]], [f"{number / 2}" for number in range(9)]))
    samples = load(tmp_path, **TEXT | {"kernels": [{"family": "rank-one", "features": "unigrams"}]}, task="regression")
    assert "12" in samples.kernels
    np.testing.assert_array_equal(samples.targets["regression"], samples.order / 2)


def test_groups_and_a_fixed_test_set_of_a_text_column(tmp_path: Path) -> None:
    reviews = ["good film", "bad film", "good plot", "bad plot"]
    rows = "".join(f"r{i % 8},{i % 4 == 3:d},{reviews[i % 4]},{i // 2 % 2}\n" for i in range(32))
    put(tmp_path, "reviewer,held,review,stars\n" + rows)
    kernels = [{"family": "rank-one", "features": "unigrams"}]
    samples = load(tmp_path, text="review", target="stars", groups="reviewer", test="held", kernels=kernels)
    assert sorted(samples.order[samples.fold == 3]) == list(range(3, 32, 4))
    for reviewer in range(8):
        assert len(set(samples.fold[samples.order % 8 == reviewer])) == 1
    assert set(samples.kernels) == {"film", "plot", "bad", "good"}
    assert not any("not used" in note for note in samples.notes)
