from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.encoding import encode_features, encode_target, whole_rows
from kernel_pipeline.errors import DataError
from tests.helpers.build import LABELS, ROWS, dense, load, put, refused

LETTERS = {"A": 1.0, "C": 2.0, "G": 3.0, "T": 4.0}
NAN = float("nan")


def encoded(columns: dict[str, Any], encode: str | dict[str, float] | None = None) -> list[list[float]]:
    rows: list[list[float]] = encode_features(pd.DataFrame(columns), encode, "things").to_numpy().tolist()
    return rows


def target(values: Any, task: str = "classification", positive: list[str] | None = None) -> list[float]:
    numbers: list[float] = encode_target(pd.Series(values), task, positive, "things").tolist()
    return numbers


# Features


def test_numbers_stay_and_truth_becomes_zero_and_one() -> None:
    assert encoded({"u": [1, 2], "v": [0.5, NAN], "w": [True, False]})[0] == [1.0, 0.5, 1.0]


def test_onehot_makes_a_column_a_word() -> None:
    frame = encode_features(pd.DataFrame({"u": [1, 2, 3], "colour": ["red", "green", "red"]}), "onehot", "things")
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


def test_sequences_become_a_feature_a_letter() -> None:
    frame = encode_features(pd.DataFrame({"dna": [" ACG ", "TTA"]}), LETTERS, "things")
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


def test_codes_leave_columns_of_numbers_alone() -> None:
    assert encoded({"u": [5, 6], "base": ["A", "C"]}, LETTERS) == [[5.0, 1.0], [6.0, 2.0]]


def test_text_in_features_says_where_and_what_to_do(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + "hello,2,a\n")
    for word in ("column 0", "'hello' in row 10", "drop = [0]", "encode = 'onehot'"):
        assert word in text


def test_onehot_and_codes_of_a_file(tmp_path: Path) -> None:
    words = "".join(f"{i},{'red' if i % 3 else 'green'},{'ab'[i % 2]}\n" for i in range(9))
    put(tmp_path, words)
    onehot = load(tmp_path, encode="onehot")
    assert onehot.features.shape == (9, 3)
    codes = load(tmp_path, encode={"red": 2, "green": 3})
    np.testing.assert_array_equal(codes.features[:, 1], np.where(onehot.features[:, 1] == 1, 3.0, 2.0))


# Gaps


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
    for word in ("'target'", "row 10", "1 of 10 rows", "missing = 'drop'"):
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


def test_whole_rows_names_the_column_and_what_was_read() -> None:
    features = pd.DataFrame({"u": [1.0, 2.0, 3.0], "v": [1.0, np.inf, NAN]})
    with pytest.raises(DataError, match=r"column 'v' .*row 2 .*inf.*2 of 3 rows"):
        whole_rows(features, pd.Series([0, 1, 0]), "error", "things")
    assert whole_rows(features, pd.Series([0, 1, 0]), "drop", "things").tolist() == [True, False, False]


# Targets


def test_a_regression_target_stays() -> None:
    assert target([3.0, 1.0, 2.0], "regression") == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_two_labels_become_minus_and_plus_one(task: str) -> None:
    assert target(["b", "a", " b "], task) == [1.0, -1.0, 1.0]


def test_two_numbers_become_minus_and_plus_one_by_their_size() -> None:
    assert target([10, 9, 10]) == [1.0, -1.0, 1.0]
    assert target([0.0, -3.0, 0.0]) == [1.0, -1.0, 1.0]


def test_categories_are_labels() -> None:
    assert target(pd.Categorical(["x", "y", "x"])) == [-1.0, 1.0, -1.0]


def test_positive_puts_some_labels_against_the_rest() -> None:
    assert target(["a", "b", "c"], positive=["a"]) == [1.0, -1.0, -1.0]
    assert target(["a", "b", "c"], positive=["a", "c"]) == [1.0, -1.0, 1.0]
    assert target(["a", "b"], positive=["a"]) == [1.0, -1.0]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_positive_names_numbers_as_people_write_them(task: str) -> None:
    assert target([1.0, 2.0, 3.0], task, ["2"]) == [-1.0, 1.0, -1.0]
    assert target([1, 2, 3], task, ["2"]) == [-1.0, 1.0, -1.0]
    assert target([0.5, 1.5], task, ["0.5"]) == [1.0, -1.0]


def test_positive_that_is_no_label() -> None:
    with pytest.raises(DataError, match=r"positive = \['q'\] contains 'q', which is not one of the labels: a, b"):
        target(["a", "b"], positive=["q"])


@pytest.mark.parametrize(
    ("values", "positive"), [(["a", "a"], None), ([1, 1], None), (["a", "b"], ["a", "b"]), (["a", "a"], ["a"])]
)
def test_one_class_is_refused(values: list[Any], positive: list[str] | None) -> None:
    with pytest.raises(DataError, match=r"one class, .*; there is nothing to learn"):
        target(values, positive=positive)


def test_three_classes_are_not_supported_yet() -> None:
    with pytest.raises(DataError) as caught:
        target(["a", "b", "c"])
    for word in ("3 classes (a, b, c)", "not supported yet", "positive = ['a']"):
        assert word in str(caught.value)
    assert "regression" not in str(caught.value)  # of text there is none


def test_three_numbers_may_be_meant_for_regression() -> None:
    with pytest.raises(DataError, match=r"positive = \['1'\], or set task = 'regression'"):
        target([1, 2, 3])


def test_many_classes_are_not_all_listed() -> None:
    with pytest.raises(DataError, match=r"9 classes \(0, 1, 2, 3, 4, \.\.\.\)"):
        target(list(range(9)))


def test_text_of_three_words_is_no_regression_target() -> None:
    with pytest.raises(DataError, match="it contains 'a' in row 1"):
        target(["a", "b", "c"], "regression")


def test_a_constant_regression_target_is_refused() -> None:
    with pytest.raises(DataError, match=r"the target is constant \(5\); there is nothing to learn"):
        target([5.0, 5.0], "regression")


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
    assert "column 'target' has no usable number in row 10" in text


def test_positive_names_a_long_number() -> None:
    assert target([1234567, 1234568, 1234569], positive=["1234568"]) == [-1.0, 1.0, -1.0]


def test_positive_names_a_truth_value() -> None:
    assert target([True, False, True], positive=["False"]) == [-1.0, 1.0, -1.0]


def test_the_positive_that_the_message_proposes_is_accepted() -> None:
    with pytest.raises(DataError, match=r"positive = \['1'\]"):
        target([1.0, 2.0, 3.0])


@pytest.mark.parametrize("cell", ["?", "inf"])
def test_messages_about_gaps_show_plain_numbers(cell: str, tmp_path: Path) -> None:
    assert "np." not in refused(tmp_path, ROWS + f"{cell},2,a\n")
