"""Notes about small classes and large majorities."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.class_notes import class_notes
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import make_plan
from tests.helpers.build import config_values, load, parsed, put


def notes(negative: int, positive: int) -> tuple[str, ...]:
    return class_notes(pd.Series(["a"] * negative + ["b"] * positive), np.repeat([-1.0, 1.0], [negative, positive]))


@pytest.mark.parametrize(
    ("sizes", "expected"), [((10, 10), 0), ((90, 10), 0), ((910, 90), 1), ((9, 10), 1), ((8, 9), 2)]
)
def test_limits(sizes: tuple[int, int], expected: int) -> None:
    assert len(notes(*sizes)) == len(notes(*sizes[::-1])) == expected


def test_the_class_and_its_size_are_named() -> None:
    assert notes(10, 9) == (
        "class 'b' has 9 samples, fewer than 10; errors and alignments will vary considerably between trials",
    )
    assert notes(950, 50) == (
        "95.0 % of the samples belong to class 'a'; a constant prediction of this class has an error of about "
        "0.050; compare errors with this value",
    )


def test_a_class_of_several_labels() -> None:
    labels = pd.Series([1.0, 2.0, 3.0, 4.0] * 2 + [5.0] * 10)
    (note,) = class_notes(labels, np.where(labels < 5, 1.0, -1.0))
    assert note.startswith("class '1', '2', '3' and 1 more has 8 samples")


def rows(classes: str, numbers: bool = False) -> str:
    return "".join(f"{row},{row * row % 7},{ord(label) if numbers else label}\n" for row, label in enumerate(classes))


@pytest.mark.parametrize("task", ["classification", ["regression", "classification"]])
def test_notes_reach_the_plan_for_a_classification(task: Any, tmp_path: Path) -> None:
    put(tmp_path, rows("a" * 95 + "b" * 5))
    samples = load(tmp_path, task=task, index=False, target=-1)
    plan = make_plan(parsed(config_values(task=task)), [samples.info])
    assert lines(plan.notes())[:2] == [
        "note: dataset 'things': class 'b' has 5 samples, fewer than 10; errors and alignments will vary considerably "
        "between trials",
        "note: dataset 'things': 95.0 % of the samples belong to class 'a'; a constant prediction of this class "
        "has an error of about 0.050; compare errors with this value",
    ]


def test_a_regression_has_no_classes(tmp_path: Path) -> None:
    put(tmp_path, rows("a" * 95 + "b" * 5, numbers=True))
    assert load(tmp_path, task="regression", index=False, target=-1).notes == ()


def table_notes(folder: Path, labels: list[str], **dataset: Any) -> list[str]:
    put(folder, "u,Readmitted\n" + "".join(f"{i * i % 7},{label}\n" for i, label in enumerate(labels)))
    return [note for note in load(folder, target="Readmitted", index=False, **dataset).notes if "Readmitted" in note]


def test_several_classes_and_their_sizes_are_listed(tmp_path: Path) -> None:
    three = ["c"] * 10 + ["a"] * 13 + ["b"] * 12
    assert table_notes(tmp_path, three) == ["target 'Readmitted' has 3 classes: 'a' (13), 'b' (12), 'c' (10)"]
    (note,) = table_notes(tmp_path, [str(i % 8) for i in range(80)])
    assert note.endswith("has 8 classes: '0' (10), '1' (10), '2' (10), '3' (10), '4' (10), '5' (10) and 2 more")
    assert table_notes(tmp_path, ["a", "b"] * 10) == table_notes(tmp_path, three, positive=["a"]) == []


@pytest.mark.parametrize("other", ["No", "NO"])
def test_labels_of_different_classes_that_differ_only_in_capital_letters(other: str, tmp_path: Path) -> None:
    labels = ["no", "yes", other] * 10
    similar = (
        f"target 'Readmitted' contains 'no' and {other!r}, which are different classes; if they are the same, correct "
        "the file"
    )
    assert similar in table_notes(tmp_path, labels)
    assert table_notes(tmp_path, labels, positive=["yes"]) == []
    assert table_notes(tmp_path, labels, positive=["no"]) == [similar]
