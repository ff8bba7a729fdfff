"""A class with too few samples is rejected, with its rows and what to do about it."""

from pathlib import Path

import pytest

from tests.helpers.build import load, put, refused


def rows_of_classes(first: int, second: int) -> str:
    return "".join(f"{i},{'a' if i < first else 'b'}\n" for i in range(first + second))


FEW = {1: "is 1 sample", 2: "are 2 samples"}


@pytest.mark.parametrize("few", [1, 2])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_class_of_fewer_than_three_samples(few: int, task: str, tmp_path: Path) -> None:
    text = refused(tmp_path, rows_of_classes(few, 9), task=task)
    assert f"there {FEW[few]} of class 'a'; at least 3 of each class are required" in text
    assert "positive" not in text


@pytest.mark.parametrize("few", [1, 2])
def test_one_of_several_classes_with_fewer_than_three_samples(few: int, tmp_path: Path) -> None:
    text = refused(tmp_path, rows_of_classes(9, 9) + "1,c\n" * few)
    assert f"there {FEW[few]} of class 'c'; at least 3" in text
    assert f"in data row{'s' if few > 1 else ''} {', '.join(['19', '20'][:few])}; " in text
    assert f"the classes and their sizes are 'a' (9), 'b' (9), 'c' ({few})" in text
    assert "If the label is a mistake, correct the file" in text
    assert "merge the classes into two: positive = [...]" in text
    assert "regression" not in text
    put(tmp_path, rows_of_classes(9, 9) + "1,c\n" * few)
    assert load(tmp_path, positive=["b", "c"]).classes == (("a",), ("b", "c"))


def test_a_class_that_is_a_typing_error(tmp_path: Path) -> None:
    rows = "".join(f"{i},{['pass', 'fail'][i % 2]}\n" for i in range(18))
    text = refused(tmp_path, rows + "1,Pass \n")
    assert "there is 1 sample of class 'Pass'" in text
    assert "data row 19" in text
    assert "Did you mean 'pass'? Correct the file" in text
    assert "regression" not in text


def test_a_rare_class_of_numbers_may_be_a_regression(tmp_path: Path) -> None:
    text = refused(tmp_path, "".join(f"{i},{i % 3 if i else 7}\n" for i in range(18)))
    assert "there is 1 sample of class '7'" in text
    assert "or set task = 'regression'" in text


def test_one_of_two_numbers_of_a_regression_with_fewer_than_three_samples(tmp_path: Path) -> None:
    text = refused(tmp_path, "".join(f"{i},{int(i > 0)}\n" for i in range(9)), task="regression")
    assert "there is 1 sample of class '0'" in text
