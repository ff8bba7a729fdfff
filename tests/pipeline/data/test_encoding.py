"""Text columns are encoded as numbers, and rows with missing values are found."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.complete_rows import complete_rows, usable_cells
from kernel_pipeline.data.encoding import encode_features
from kernel_pipeline.errors import DataError
from tests.helpers.build import LABELS, ROWS, dense, load, put, refused

LETTERS = {"A": 1.0, "C": 2.0, "G": 3.0, "T": 4.0}


NAN = float("nan")


def encoded(columns: dict[str, Any], encode: str | dict[str, float] | None = None) -> list[list[float]]:
    rows: list[list[float]] = encode_features(pd.DataFrame(columns), encode, "things").frame.to_numpy().tolist()
    return rows


def test_numbers_are_unchanged_and_booleans_become_zero_and_one() -> None:
    assert encoded({"u": [1, 2], "v": [0.5, NAN], "w": [True, False]})[0] == [1.0, 0.5, 1.0]


def test_onehot_makes_one_column_per_word() -> None:
    table = pd.DataFrame({"u": [1, 2, 3], "colour": ["red", "green", "red"]})
    found = encode_features(table, "onehot", "things")
    frame = found.frame
    assert found.origins == ["u", "colour", "colour"]
    assert found.one_hot == ["colour"]
    assert list(frame.columns) == ["u", "colour_green", "colour_red"]
    assert frame.to_numpy().tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]


def test_onehot_keeps_gaps() -> None:
    assert np.isnan(encoded({"colour": ["red", None, "green"]}, "onehot")[1]).all()


def test_words_become_their_codes() -> None:
    assert encoded({"size": ["small", " large ", "small"]}, {"small": 1.0, "large": 9.0}) == [[1.0], [9.0], [1.0]]


def test_a_word_without_a_code_is_a_gap() -> None:
    assert np.isnan(encoded({"size": ["small", "huge"]}, {"small": 1.0, "large": 9.0})[1][0])


def test_single_letters_become_one_column() -> None:
    assert encoded({"base": ["A", "T", "G"]}, LETTERS) == [[1.0], [4.0], [3.0]]


def test_sequences_become_one_feature_per_letter() -> None:
    found = encode_features(pd.DataFrame({"dna": [" ACG ", "TTA"]}), LETTERS, "things")
    frame = found.frame
    assert found.origins == ["dna"] * 3
    assert frame.to_numpy().tolist() == [[1.0, 2.0, 3.0], [4.0, 4.0, 1.0]]
    assert list(frame.columns) == ["dna.0", "dna.1", "dna.2"]


def test_a_letter_without_a_code_and_an_absent_sequence_are_gaps() -> None:
    rows = encoded({"dna": ["AC", "AN", None]}, LETTERS)
    assert rows[0] == [1.0, 2.0]
    assert np.isnan(rows[1]).tolist() == [False, True]
    assert np.isnan(rows[2]).all()


def test_sequences_of_several_lengths_are_refused() -> None:
    with pytest.raises(
        DataError, match="'dna' contains sequences of 2 to 4 letters; all of them must have the same length"
    ):
        encoded({"dna": ["AC", "ACGT"]}, LETTERS)


def test_codes_do_not_change_columns_of_numbers() -> None:
    assert encoded({"u": [5, 6], "base": ["A", "C"]}, LETTERS) == [[5.0, 1.0], [6.0, 2.0]]


def test_the_message_about_text_in_features_names_the_cell_and_the_remedies(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + "hello,2,a\n")
    for word in ("column 0", "'hello' in data row 10", "missing_values = ['hello']", "categorical = [0]"):
        assert word in text


def test_onehot_and_codes_of_a_file(tmp_path: Path) -> None:
    words = "".join(f"{i},{'red' if i % 3 else 'green'},{'ab'[i % 2]}\n" for i in range(9))
    put(tmp_path, words)
    onehot = load(tmp_path, encode="onehot")
    assert onehot.features.shape == (9, 3)
    codes = load(tmp_path, encode={"red": 2, "green": 3})
    np.testing.assert_array_equal(codes.features[:, 1], np.where(onehot.features[:, 1] == 1, 3.0, 2.0))


@pytest.mark.parametrize("cell", ["?", "", "nan", "inf", "-inf", "1e200", "-1e200", "1e999"])
def test_cells_without_a_usable_number_are_refused_or_left_out(cell: str, tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + f"1,{cell},a\n")
    for word in ("row 10", "1 of 10 rows", "missing = 'drop'"):
        assert word in text
    samples = load(tmp_path, missing="drop")
    assert samples.left_out == 1
    assert len(dense(samples)) == 9
    assert np.isfinite(dense(samples)).all()


def test_a_gap_in_the_target_is_refused_or_left_out(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + "1,2,?\n")
    for word in ("target column 2 is empty in data row 10", "1 of 10 rows", "missing = 'drop'"):
        assert word in text
    samples = load(tmp_path, missing="drop")
    assert samples.left_out == 1
    assert sorted(samples.order) == list(range(9))


def test_left_out_rows_are_counted_once_and_order_is_the_row_of_the_source(tmp_path: Path) -> None:
    put(tmp_path, "?,?,?\n" + ROWS + "?,1,a\n")
    samples = load(tmp_path, missing="drop")
    assert samples.left_out == 2
    # The first row of the file is one of those left out.
    np.testing.assert_array_equal(samples.features[:, 0], samples.order - 1)
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order - 1])


def test_sequences_with_other_letters_are_refused_or_left_out(tmp_path: Path) -> None:
    rows = "".join(f"{'ACGT'[i % 4]}{'ACGT'[i // 4]},{'ab'[i % 2]}\n" for i in range(9))
    assert "row 10" in refused(tmp_path, rows + "AN,a\n", encode=LETTERS)
    samples = load(tmp_path, encode=LETTERS, missing="drop")
    assert samples.left_out == 1
    assert samples.features.shape == (9, 2)


def test_no_row_left(tmp_path: Path) -> None:
    assert "0 rows" in refused(tmp_path, ROWS.replace(",a", ",?").replace(",b", ",?"), missing="drop")


def test_complete_rows_names_the_column_and_the_value() -> None:
    features = encode_features(pd.DataFrame({"u": [1.0, 2.0, 3.0], "v": [1.0, np.inf, NAN]}), None)
    usable, labels = usable_cells(features.frame, "drop"), pd.Series([0, 1, 0])
    with pytest.raises(DataError, match=r"column 'v' .*\(found inf\) in data row 2; .* 2 of 3 rows"):
        complete_rows(features, usable, labels, "error", "things")
    assert complete_rows(features, usable, labels, "drop", "things").tolist() == [True, False, False]
    used = np.array([True, False])
    assert complete_rows(features, usable, labels, "error", "things", used).all()


@pytest.mark.parametrize(
    "values",
    [["0", "1"], pd.Categorical(["0", "1"]), pd.Categorical([0, 1]), [None, None]],
    ids=["text", "categories of text", "categories of numbers", "no value at all"],
)
def test_digits_as_text_are_numbers_or_refused(values: Any) -> None:
    with suppress(DataError):
        assert len(encoded({"u": values})) == 2


def test_numbers_of_thirty_digits_are_numbers(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i + 1}{'0' * 30},{i % 2}\n" for i in range(9)))
    assert load(tmp_path).features.max() == 9e30


def test_codes_for_a_column_without_values() -> None:
    assert np.isnan(encoded({"u": pd.Series([None, None], dtype=object)}, LETTERS)).all()


def test_onehot_of_a_column_without_values_keeps_the_gaps() -> None:
    rows = encoded({"u": [1.0, 2.0], "v": pd.Series([None, None], dtype=object)}, "onehot")
    assert np.isnan(rows).any()


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e200"])
def test_an_unusable_number_in_the_target_is_refused(cell: str, tmp_path: Path) -> None:
    text = refused(tmp_path, "".join(f"{i},{i}\n" for i in range(9)) + f"1,{cell}\n", task="regression")
    assert "target column 1 has no usable number" in text


@pytest.mark.parametrize("cell", ["?", "inf"])
def test_messages_about_gaps_show_plain_numbers(cell: str, tmp_path: Path) -> None:
    assert "np." not in refused(tmp_path, ROWS + f"{cell},2,a\n")
