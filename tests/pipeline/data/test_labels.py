"""Labels are encoded as targets."""

from typing import Any

import pandas as pd
import pytest

from kernel_pipeline.data.encoding import encode_target
from kernel_pipeline.errors import DataError


def target(values: Any, task: str = "classification", positive: list[str] | None = None) -> list[float]:
    numbers: list[float] = encode_target(pd.Series(values), task, positive, "things").tolist()
    return numbers


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


def test_positive_names_a_long_number() -> None:
    assert target([1234567, 1234568, 1234569], positive=["1234568"]) == [-1.0, 1.0, -1.0]


def test_positive_names_a_truth_value() -> None:
    assert target([True, False, True], positive=["False"]) == [-1.0, 1.0, -1.0]


def test_the_positive_that_the_message_proposes_is_accepted() -> None:
    with pytest.raises(DataError, match=r"positive = \['1'\]"):
        target([1.0, 2.0, 3.0])
