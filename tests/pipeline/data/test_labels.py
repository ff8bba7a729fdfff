"""Labels are encoded as targets."""

from typing import Any

import pandas as pd
import pytest

from kernel_pipeline.data.targets import MAX_CLASSES, EncodedTarget, encode_target
from kernel_pipeline.errors import DataError


def target(values: Any, task: str = "classification", positive: list[str] | None = None) -> list[float]:
    numbers: list[float] = encode_target(pd.Series(values), task, positive, "things").values.tolist()
    return numbers


def test_a_regression_target_is_unchanged() -> None:
    assert target([3.0, 1.0, 2.0], "regression") == [3.0, 1.0, 2.0]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_two_labels_become_minus_and_plus_one(task: str) -> None:
    assert target(["b", "a", " b "], task) == [1.0, -1.0, 1.0]


def test_two_numbers_become_minus_and_plus_one_in_increasing_order() -> None:
    assert target([10, 9, 10]) == [1.0, -1.0, 1.0]
    assert target([0.0, -3.0, 0.0]) == [1.0, -1.0, 1.0]


def test_categories_are_labels() -> None:
    assert target(pd.Categorical(["x", "y", "x"])) == [-1.0, 1.0, -1.0]


def test_positive_separates_some_labels_from_the_rest() -> None:
    assert target(["a", "b", "c"], positive=["a"]) == [1.0, -1.0, -1.0]
    assert target(["a", "b", "c"], positive=["a", "c"]) == [1.0, -1.0, 1.0]
    assert target(["a", "b"], positive=["a"]) == [1.0, -1.0]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_positive_names_numbers_without_superfluous_decimals(task: str) -> None:
    assert target([1.0, 2.0, 3.0], task, ["2"]) == [-1.0, 1.0, -1.0]
    assert target([1, 2, 3], task, ["2"]) == [-1.0, 1.0, -1.0]
    assert target([0.5, 1.5], task, ["0.5"]) == [1.0, -1.0]


def test_positive_that_is_not_a_label() -> None:
    with pytest.raises(DataError, match=r"positive = \['q'\] contains 'q', which is not one of the labels: a, b"):
        target(["a", "b"], positive=["q"])


@pytest.mark.parametrize(
    ("values", "positive", "cause", "fix"),
    [
        (["a", "a"], None, "one class, 'a'", "name another target column: target = ..."),
        ([1, 1], None, "one class, '1'", "name another target column: target = ..."),
        (["a", "a"], ["a"], "one class, 'a'", "Add samples of another class"),
        (["a", "b"], ["b", "a"], "positive = ['b', 'a'] contains all labels", "Remove the labels of the other class"),
        (list("abc"), ["a", "b", "c"], "positive = ['a', 'b', 'c'] contains all labels", "from positive"),
    ],
)
def test_one_class_is_refused(values: list[Any], positive: list[str] | None, cause: str, fix: str) -> None:
    with pytest.raises(DataError, match="there is nothing to learn") as caught:
        target(values, positive=positive)
    assert cause in str(caught.value)
    assert fix in str(caught.value)


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (["c", " a ", "b", "a"], ["a", "b", "c"]),
        ([10, 9, 2, 9], ["2", "9", "10"]),
        (["10", "9", "2.0", "9"], ["2", "9", "10"]),  # numbers that were written as text
        ([0.5, -1.0, 2.0, -1.0], ["-1", "0.5", "2"]),
        (pd.Categorical(["x", "z", "y", "z"], categories=["z", "y", "x", "w"]), ["x", "y", "z"]),
    ],
)
def test_more_than_two_classes_have_a_column_of_zeros_and_ones_each(values: Any, classes: list[str]) -> None:
    found = encode_target(pd.Series(values), "classification", None, "things")
    assert found.classes == tuple((label,) for label in classes)
    assert found.outputs == ()
    written = [str(value).strip().removesuffix(".0") for value in pd.Series(values)]
    assert found.values.tolist() == [[float(label == own) for label in classes] for own in written]
    assert found.values.sum(axis=1).tolist() == [1.0] * 4


def test_the_labels_of_two_classes_are_kept_negative_ones_first() -> None:
    def classes(values: list[Any], positive: list[str] | None = None, task: str = "classification") -> Any:
        return encode_target(pd.Series(values), task, positive, "things").classes

    assert classes(["no", "yes", "no"]) == classes(["no", "yes"], task="regression") == (("no",), ("yes",))
    assert classes([1.0, 2.0, 3.0], ["2"]) == (("1", "3"), ("2",))
    assert classes(["b", "a", "c"], ["c", "a"]) == (("b",), ("a", "c"))
    assert classes([1.0, 2.0, 3.0], task="regression") == ()


def test_more_labels_than_a_classification_can_have() -> None:
    found = encode_target(pd.Series(range(MAX_CLASSES)), "classification", None, "things")
    assert found.values.shape == (MAX_CLASSES, MAX_CLASSES)
    with pytest.raises(DataError, match=r"has 1,001 different labels; at most 1,000 .*Set task = 'regression'"):
        target(range(MAX_CLASSES + 1))
    assert target(range(MAX_CLASSES + 1), positive=["7"])[:9] == [-1.0] * 7 + [1.0, -1.0]


def outputs(columns: dict[str, Any], task: str = "regression", positive: list[str] | None = None) -> EncodedTarget:
    return encode_target(pd.DataFrame(columns), task, positive, "things")


def test_several_outputs_are_columns_of_numbers() -> None:
    found = outputs({"u": [1, 2, 4], "v": ["0.5", "-3", "2"]})
    assert found.values.tolist() == [[1.0, 0.5], [2.0, -3.0], [4.0, 2.0]]
    assert (found.outputs, found.classes) == (("u", "v"), ())
    assert outputs({"a\x1b": [1, 2], "b": [0, 1]}).outputs == ("a\\x1b", "b")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"u": [1, 2], "v": [0, "much"]}, r"must consist of numbers.* column 'v' contains 'much' in data row 2"),
        ({"u": [1, 2], "v": [3, 3]}, r"target column 'v' is constant \(3\)"),
        ({"u": [1, 2], "v": [1e70, 0]}, r"target column 'v' has values of size 1\.0e\+70; .* between 1e-60 and 1e60"),
        ({"u": [1, 2], "v": [1e-70, 0]}, r"target column 'v' has values of size 1\.0e-70"),
    ],
)
def test_outputs_that_are_refused(columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        outputs(columns)


def test_several_target_columns_are_for_regressions_without_positive() -> None:
    columns = {"u": [1, 2, 1], "v": [2, 1, 1]}
    with pytest.raises(DataError, match=r"task = 'classification', but there are 2 target columns \(u, v\)"):
        outputs(columns, "classification")
    with pytest.raises(DataError, match=r"positive = \['1'\], but there are 2 target columns"):
        outputs(columns, positive=["1"])


def test_text_of_three_words_is_not_a_regression_target() -> None:
    with pytest.raises(DataError, match="it contains 'a' in data row 1"):
        target(["a", "b", "c"], "regression")


def test_a_constant_regression_target_is_refused() -> None:
    with pytest.raises(DataError, match=r"the target is constant \(5\); there is nothing to learn"):
        target([5.0, 5.0], "regression")


def test_positive_names_a_long_number() -> None:
    assert target([1234567, 1234568, 1234569], positive=["1234568"]) == [-1.0, 1.0, -1.0]


def test_positive_names_a_boolean() -> None:
    assert target([True, False, True], positive=["False"]) == [-1.0, 1.0, -1.0]
