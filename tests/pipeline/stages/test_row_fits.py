"""Support vector machines that are fitted from rows of the kernel, compared with those of kernels in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.row_fits import RowFitTask
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from tests.helpers.sweeps import plan_in
from tests.pipeline.stages.first_trial import Fitted, fit_first_trial
from tests.pipeline.stages.test_recompute import FAMILIES, STORED, put_data

ROWS = 240
BREAST = {"source": "sklearn", "id": "breast_cancer", "scale": "standard", "rows": ROWS, "kernels": FAMILIES[:1]}
DATASETS: dict[str, dict[str, Any]] = {
    "two classes": BREAST,
    "several families, fitted to the training set": BREAST | {"kernels": FAMILIES[1:], "fit_on": "train"},
    "three classes": {
        "source": "sklearn",
        "id": "wine",
        "scale": "standard",
        "rows": 178,
        "kernels": FAMILIES[:1],
    },
    "precomputed kernels": {
        "source": "file",
        "path": "things.csv",
        "format": "csv",
        "target": "y",
        "rows": ROWS,
        "kernels": STORED,
    },
}
FIT: dict[str, Any] = {"svm": {"from": 6, "to": 14, "step": 4}, "class_weight": "balanced"}
# 2.2 n^2 numbers for n = 80 training samples are 110 KiB, and for n = 60 they are 62 KiB.
SMALL = "60 KiB"


def values_of(name: str, memory: str, methods: tuple[str, ...] = ("align",)) -> dict[str, Any]:
    dataset = {"name": "data", "task": "classification", **DATASETS[name]}
    return {
        "name": "rows",
        "baselines": False,
        "methods": list(methods),
        "protocol": {"folds": 3},
        "fit": FIT | {"memory": memory},
        "storage": {"tile": 50},
        "dataset": [dataset],
    }


def fit(root: Path, name: str, memory: str) -> Fitted:
    root.mkdir()
    put_data(root, ROWS)
    return fit_first_trial(root, values_of(name, memory))


def test_a_trial_of_a_further_repeat_equals_that_of_kernels_in_memory(tmp_path: Path) -> None:
    found = []
    for memory in ("8 GiB", SMALL):
        root = tmp_path / memory
        root.mkdir()
        values = values_of("two classes", memory) | {"protocol": {"folds": 3, "repeats": 2}}
        found.append(fit_first_trial(root, values, number=4))
    whole, rows = found
    assert rows.plan.of(RowFitTask)
    np.testing.assert_array_equal(np.isnan(rows.predictions), np.isnan(whole.predictions))
    assert whole.result.path is not None
    assert rows.result.path is not None
    expected, errors = whole.result.path.test_errors, rows.result.path.test_errors
    np.testing.assert_allclose(np.asarray(errors, float), np.asarray(expected, float), atol=1.5 / 60)


@pytest.mark.parametrize("name", DATASETS)
def test_fits_equal_those_of_libsvm_within_their_gaps(name: str, tmp_path: Path) -> None:
    whole, rows = (fit(tmp_path / part, name, memory) for part, memory in (("whole", "8 GiB"), ("rows", SMALL)))
    assert whole.plan.of(FitTask)
    assert rows.plan.of(RowFitTask)
    assert not rows.plan.of(FitTask)
    expected, found = whole.result.path, rows.result.path
    assert expected is not None
    assert found is not None
    assert np.max(np.asarray(found.certificates, dtype=float)) <= MAX_GAP
    assert found.certificates != expected.certificates
    for errors in ("train_errors", "validation_errors", "test_errors"):
        np.testing.assert_allclose(getattr(found, errors), getattr(expected, errors), atol=1.5 / 60)
    if found.best == expected.best:  # decision values agree as far as gaps of up to 1e-3 determine them
        np.testing.assert_allclose(rows.predictions, whole.predictions, atol=0.1)
    theorems, exact = rows.result.theorems.to_json(), whole.result.theorems.to_json()
    assert theorems.keys() == exact.keys()
    assert bool(theorems) == (name != "three classes")
    for value in theorems:
        assert theorems[value] == pytest.approx(exact[value], rel=1e-9), value


def test_methods_that_need_the_whole_kernel_are_fitted_in_one_piece(tmp_path: Path) -> None:
    config = parse_config(values_of("two classes", SMALL, ("unif", "alignf-linear")), "a test")
    (dataset,) = plan_in(tmp_path, config)[0].datasets
    assert {task.method_id for task in dataset.of(RowFitTask)} == {"unif"}
    assert {task.method_id for task in dataset.of(FitTask)} == {"alignf-linear"}
    assert [array.name for array in dataset.arrays if array.group == "combined.zarr"] == [
        "data/classification/alignf-linear"
    ]


def test_memory_that_is_too_small_for_any_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"fit\.memory = '1 KiB' is too small.*at least '40 KiB'"):
        plan_in(tmp_path, parse_config(values_of("two classes", "1 KiB"), "a test"))
    (dataset,) = plan_in(tmp_path, parse_config(values_of("two classes", "40 KiB"), "a test"))[0].datasets
    assert dataset.of(RowFitTask)[0].memory.rows == 1
