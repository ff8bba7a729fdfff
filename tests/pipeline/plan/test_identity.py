"""The identity of a task depends on every field, and is the same in every process."""

import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import pytest

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.task import STAGES, Task
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.weights.unif import Unif
from tests.helpers.build import PROJECT
from tests.pipeline.plan.example_tasks import CELL, COMMON, FIELDS, GRAM, TASKS


def test_example_tasks_have_another_value_for_every_field() -> None:
    """Check that the examples are complete, since the next test would miss a field that they lack."""
    for task, _ in TASKS:
        assert {field.name for field in fields(task)} == {name for other, name, _ in FIELDS if other is task}
    assert {task.stage for task, _ in TASKS} == set(STAGES)


@pytest.mark.parametrize(
    ("task", "name", "value"), FIELDS, ids=[f"{type(task).__name__}-{name}" for task, name, _ in FIELDS]
)
def test_identity_changes_with_every_field(task: Task, name: str, value: Any) -> None:
    assert replace(task, **{name: value}).identity != task.identity
    assert replace(task).identity == task.identity


@pytest.mark.parametrize("task", [task for task, _ in TASKS], ids=lambda task: type(task).__name__)
def test_identity_changes_with_the_version(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    before = task.identity
    monkeypatch.setattr(type(task), "version", type(task).version + 1)
    assert task.identity != before


@pytest.mark.parametrize("task", [task for task, _ in TASKS], ids=lambda task: type(task).__name__)
def test_identity_changes_with_the_version_of_the_result(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    before = task.identity
    monkeypatch.setattr(CellResult, "version", CellResult.version + 1)
    assert (task.identity != before) == (task.result_type is CellResult)


@pytest.mark.parametrize(
    "task", [task for task, _ in TASKS if "method" in vars(task)], ids=lambda task: type(task).__name__
)
def test_identity_changes_with_the_version_of_the_method(task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = task.identity
    monkeypatch.setattr(type(task.method), "version", type(task.method).version + 1)
    assert task.identity != before


def test_a_value_without_an_identity_is_refused() -> None:
    with pytest.raises(TypeError, match="a task cannot contain"):
        _ = FitTask(**GRAM, **CELL, method=Unif(), values={1.0}).identity  # type: ignore[arg-type]


def test_identity_survives_pickling() -> None:
    for task, _ in TASKS:
        again = pickle.loads(pickle.dumps(task))
        assert again == task
        assert again.identity == task.identity


def test_identity_is_the_same_in_another_process() -> None:
    """A later process, with another hash seed, must find the tasks of an earlier one in the ledger."""
    lines = [f"from {type(task).__module__} import {type(task).__name__}" for task, _ in TASKS]
    held = {type(value) for task, _ in TASKS for value in vars(task).values() if is_dataclass(value)}
    lines += [f"from {kind.__module__} import {kind.__name__}" for kind in (GaussianFamily, *held)]
    lines += [f"print({task!r}.identity)" for task, _ in TASKS]
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": salt},
        cwd=PROJECT,
    )
    assert done.stdout.split() == [task.identity for task, _ in TASKS]


def test_a_new_parameter_with_a_default_does_not_change_the_identity() -> None:
    @dataclass(frozen=True)
    class Before:
        given: tuple[int, int]

    @dataclass(frozen=True)
    class After:
        given: tuple[int, int]
        added: float | None = None

    def identity(family: Any) -> str:
        return TilesTask(**COMMON, tile_size=4, families=(family,), number=0, tiles=((0, 0),)).identity

    After.__name__ = "Before"
    assert identity(Before((1, 2))) == identity(After((1, 2))) != identity(After((1, 2), 0.5))
