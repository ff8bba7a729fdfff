"""Results of tasks are written to the JSON of the ledger and read back, and invalid JSON is refused."""

import copy
import json
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.stages import cell_results
from kernel_pipeline.stages.cell_results import (
    READERS,
    Alignments,
    CellResult,
    Theorems,
    TrialWeights,
    WeightsResult,
)
from kernel_pipeline.stages.kernel_results import MAX_NAMED_KERNELS, DegenerateKernels, KernelFits, MarkedKernels
from kernel_pipeline.stages.rank_one import RankOneFitTask
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.stages.task_results import NoResult, TaskResult
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.weights.unif import Unif
from tests.helpers.build import changed

PATH = PathResult([(1.0,), (2.0,)], [0.5, None], [0.25, None], [0.125, None], best=0, metrics={"mae": 0.5, "r2": None})
WEIGHTS = WeightsResult(3, 2, 1e-9, Alignments(0.5, None, -0.25, None))
RESULTS: dict[str, TaskResult] = {
    "none": NoResult(),
    "failed cell": CellResult("failed: why"),
    "two-stage cell": CellResult(path=PATH, theorems=Theorems(theorem12=3.0, predictor_error=0.5)),
    "one-stage cell": CellResult(
        weights=WEIGHTS, path=PathResult([(1.0, 2.0, 3.0)], [0.5], [0.5], [0.5], 0, [1e-7], True)
    ),
    "cell of two outputs": CellResult(path=replace(PATH, output_errors=[0.25, None])),
    "refitted cell": CellResult(path=replace(PATH, final_errors=[0.0])),
    "cell of a chosen metric": CellResult(path=replace(PATH, metric="mae")),
    "signed cell": CellResult(path=PATH, alignments=Alignments(None, 0.25)),
    "weights": TrialWeights({0: WEIGHTS, 11: WeightsResult(3, status="failed: why")}),
    "kernels": KernelFits({"failed: why": (0, 3)}),
    "degenerate": DegenerateKernels(constant=MarkedKernels(7, 6, ((0, (1, 2)), (5, (0,))))),
}
CELL: dict[str, Any] = {
    "status": "ok",
    "weights": {"certificate": 0.0, "n_kernels": 3, "n_active": 2, "alignment_train": 0.5, "alignment_test": None},
    "path": {
        "values": [[1.0], [2.0]],
        "train_errors": [0.5, 0.5],
        "validation_errors": [0.5, None],
        "test_errors": [0.5, None],
        "best": 1,
        "certificates": None,
        "majority_only": False,
    },
    "at_edge": True,
    "theorems": {"theorem12": 3.0},
}
FORGED: list[tuple[tuple[str, ...], Any]] = [
    (("status",), None),
    (("status",), 3),
    (("path",), None),
    (("path",), []),
    (("path",), "all"),
    (("path", "values"), []),
    (("path", "values"), [1.0, 2.0]),
    (("path", "values"), [[], []]),
    (("path", "values"), [["a"], [2.0]]),
    (("path", "values"), [[None], [2.0]]),
    (("path", "values"), [[1.0] * 4, [2.0]]),
    (("path", "train_errors"), [0.5]),
    (("path", "validation_errors"), {"0": 0.5}),
    (("path", "test_errors"), [True, False]),
    (("path", "test_errors"), ["0.5", "0.5"]),
    (("path", "test_errors"), [10**400, 0.5]),
    (("path", "best"), 2),
    (("path", "best"), -1),
    (("path", "best"), 0.0),
    (("path", "best"), True),
    (("path", "certificates"), [0.0]),
    (("path", "certificates"), [None, None]),
    (("path", "majority_only"), "no"),
    (("path", "output_errors"), 0.5),
    (("path", "output_errors"), ["0.5"]),
    (("path", "metrics"), [0.5]),
    (("path", "metrics"), {"mae": "small"}),
    (("path", "metric"), ["mae"]),
    (("path", "final_errors"), 0.5),
    (("weights",), [1]),
    (("weights", "n_kernels"), None),
    (("weights", "n_kernels"), 2**70),
    (("weights", "n_active"), "two"),
    (("weights", "certificate"), "none"),
    (("weights", "status"), []),
    (("weights", "alignment_train"), [0.5]),
    (("theorems",), 12),
    (("theorems", "theorem12"), {}),
]


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_unchanged_by_the_ledger(name: str) -> None:
    result = RESULTS[name]
    assert type(result).from_json(json.loads(json.dumps(result.to_json()))) == result


def test_the_json_of_earlier_runs_is_read_and_written_in_the_same_form() -> None:
    found = CellResult.from_json(CELL)
    assert found.at_edge
    assert found.path is not None
    assert not found.path.metrics
    assert found.to_json() == CELL
    without = copy.deepcopy(CELL)
    del without["path"]["majority_only"]
    assert CellResult.from_json(without) == found
    assert CellResult.from_json(changed(CELL, ("path", "metric"), None)) == found


def test_a_member_of_a_path_that_is_zero_or_false_is_not_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class LongerPath(PathResult):
        steps: float | None = None
        solved: bool = True

    members = [member for member in fields(LongerPath) if member.name != "predictions"]
    readers = {"steps": READERS[float | None], "solved": READERS[bool]}
    monkeypatch.setattr(cell_results, "PathResult", LongerPath)
    monkeypatch.setattr(cell_results, "MEMBERS", members)
    monkeypatch.setattr(cell_results, "READER_OF", cell_results.READER_OF | readers)
    for added in ({}, {"steps": 0.0}, {"steps": 3.0}, {"solved": False}):
        path = LongerPath(**{member.name: getattr(PATH, member.name) for member in fields(PATH)} | added)
        result = CellResult(path=path)
        found = CellResult.from_json(json.loads(json.dumps(result.to_json())))
        assert found == result
        assert added.keys() <= result.to_json()["path"].keys()
    stored = CellResult.from_json(CELL).path
    assert isinstance(stored, LongerPath)
    assert (stored.steps, stored.solved) == (None, True)


@pytest.mark.parametrize(("place", "value"), FORGED)
def test_an_invalid_cell_gives_one_error_that_names_the_member(place: tuple[str, ...], value: Any) -> None:
    forged = copy.deepcopy(CELL)
    inner = forged
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    with pytest.raises(ValueError, match="the result") as caught:
        CellResult.from_json(forged)
    assert place[0] in str(caught.value) or place[-1] in str(caught.value)


@pytest.mark.parametrize("count", [1, 3])
def test_errors_of_another_number_of_outputs_are_refused(count: int) -> None:
    task = RankOneFitTask(
        dataset="made", fingerprint="", target=Target("regression", (0, 1)), trial=0, method=Unif(), values=((1.0,),)
    )
    cases: list[tuple[list[float | None], bool]] = [([0.5, 0.25], True), ([0.5] * count, False)]
    for errors, is_valid in cases:
        value = CellResult(path=replace(PATH, output_errors=errors)).to_json()
        if is_valid:
            assert isinstance(task.read_result(value), CellResult)
        else:
            with pytest.raises(ValueError, match=f"the result has errors of {count} outputs, not of 2"):
                task.read_result(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *product((NoResult, CellResult, TrialWeights, KernelFits), (None, [], "ok", 3)),
        (TrialWeights, {}),
        (TrialWeights, {"trials": {"first": {"n_kernels": 3}}}),
        (TrialWeights, {"trials": {"9" * 5000: {"n_kernels": 3}}}),
        (TrialWeights, {"trials": {"0": {}}}),
        (TrialWeights, {"trials": {"0": 3}}),
        (KernelFits, {"errors": [0.5], "statuses": ["ok"]}),
        (KernelFits, {"failed": ["why"]}),
        (KernelFits, {"failed": {"why": 3}}),
        (KernelFits, {"failed": {"why": [-1]}}),
        (KernelFits, {"failed": {"why": ["0"]}}),
        (DegenerateKernels, {"constant": 3}),
        (DegenerateKernels, {"flat": {"count": -1, "first": []}}),
        (DegenerateKernels, {"flat": {"count": 1, "first": [3]}}),
        (DegenerateKernels, {"flat": {"count": 1, "first": [[0]]}}),
        (DegenerateKernels, {"flat": {"count": 1, "first": [[-1, [0]]]}}),
        (DegenerateKernels, {"flat": {"count": 1, "first": [[0, ["0"]]]}}),
    ],
)
def test_invalid_results_are_refused(kind: type[TaskResult], value: Any) -> None:
    with pytest.raises(ValueError, match="the result"):
        kind.from_json(value)


def test_kernels_are_counted_over_trials_and_the_first_are_named() -> None:
    marked = np.zeros((3, 10), dtype=bool)
    marked[1, 2:] = True
    marked[2, 2] = True
    found = MarkedKernels.of(marked, [0, 1, 2])
    assert MarkedKernels.of(marked[1:2], [4]).first[0] == (2, (4,))
    assert found.count == found.most == 8
    assert len(found.first) == MAX_NAMED_KERNELS
    assert found.first[:2] == ((2, (1, 2)), (3, (1,)))
    assert MarkedKernels.of(marked[:1], [0]) == MarkedKernels()


def test_kernels_are_counted_per_trial() -> None:
    marked = np.array([[True, False, False], [False, True, True], [False, False, False]])
    found = MarkedKernels.of(marked, [0, 1, 2])
    assert (found.count, found.most) == (3, 2)
    alone = [MarkedKernels.of(marked[[trial]], [trial]) for trial in range(3)]
    assert MarkedKernels.merged(alone) == found
    assert MarkedKernels.merged([]) == MarkedKernels()
    earlier = {"constant": {"count": 3, "first": []}}
    assert DegenerateKernels.from_json(earlier).constant == MarkedKernels(3, 3)
