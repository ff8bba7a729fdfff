"""Ridge paths that are fitted from panels of the kernel equal those of kernels in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.errors import ConfigError, TooLargeError
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.panel_fits import LargeRidgesTask, PanelFitTask, RidgeGroupTask
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL
from tests.helpers.sweeps import plan_in
from tests.pipeline.stages.first_trial import Fitted, fit_first_trial
from tests.pipeline.stages.test_recompute import FAMILIES, STORED, put_data

ROWS = 240
WAVE = {"source": "synthetic", "rows": ROWS, "kernels": FAMILIES[:2]}
DATASETS: dict[str, dict[str, Any]] = {
    "one output": WAVE,
    "fitted to the training set": WAVE
    | {"scale": "standard", "fit_on": "train", "kernels": [{"family": "gaussian", "gamma": ["median", 0.3]}]},
    "several outputs": {
        "source": "file",
        "path": "things.csv",
        "format": "csv",
        "target": ["b", "y"],
        "rows": ROWS,
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
FIT: dict[str, Any] = {"krr": {"from": -20, "to": 0, "step": 2}}
# 1.3 n^2 numbers: 65 KiB for n = 80 training samples.
SMALL = "60 KiB"


def values_of(name: str, memory: str, gram: str = "recompute", **storage: Any) -> dict[str, Any]:
    return {
        "name": "panels",
        "baselines": False,
        "methods": ["align"],
        "protocol": {"folds": 3},
        "fit": FIT | {"memory": memory},
        "storage": {"tile": 6, "gram": gram} | storage,
        "dataset": [{"name": "data", "task": "regression", **DATASETS[name]}],
    }


def fit(root: Path, name: str, memory: str, gram: str = "recompute") -> Fitted:
    root.mkdir()
    put_data(root, ROWS)
    return fit_first_trial(root, values_of(name, memory, gram))


@pytest.mark.parametrize("name", DATASETS)
def test_fits_equal_those_of_kernels_in_memory(name: str, tmp_path: Path) -> None:
    whole, panels = fit(tmp_path / "whole", name, "8 GiB"), fit(tmp_path / "panels", name, SMALL)
    assert [type(task) for task in whole.tasks] == [FitTask]
    first, *groups, last = panels.tasks
    assert isinstance(first, LargeRidgesTask)
    assert isinstance(last, PanelFitTask)
    assert groups
    assert all(isinstance(task, RidgeGroupTask) for task in groups)
    expected, path = whole.result.path, panels.result.path
    assert expected is not None
    assert path is not None
    assert path.best == expected.best
    assert np.max(np.asarray(path.certificates, dtype=float)) <= MAX_RESIDUAL
    for errors in ("train_errors", "validation_errors", "test_errors"):
        np.testing.assert_allclose(getattr(path, errors), getattr(expected, errors), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(panels.predictions, whole.predictions, rtol=1e-4, atol=1e-6)
    theorems, exact = panels.result.theorems.to_json(), whole.result.theorems.to_json()
    assert theorems.keys() == exact.keys()
    assert ("theorem17" in theorems) == (name != "several outputs")
    for value in theorems:
        assert theorems[value] == pytest.approx(exact[value], rel=1e-6), value


def test_a_trial_of_a_further_repeat_equals_that_of_kernels_in_memory(tmp_path: Path) -> None:
    found = []
    for memory in ("8 GiB", SMALL):
        root = tmp_path / memory
        root.mkdir()
        values = values_of("one output", memory) | {"protocol": {"folds": 3, "repeats": 2}}
        found.append(fit_first_trial(root, values, number=4))
    whole, panels = found
    assert panels.plan.of(PanelFitTask)
    np.testing.assert_allclose(panels.predictions, whole.predictions, rtol=1e-4, atol=1e-6)


def test_stored_gram_matrices_do_not_change_the_fits(tmp_path: Path) -> None:
    kept, again = (fit(tmp_path / gram, "one output", SMALL, gram) for gram in ("keep", "recompute"))
    assert again.result.to_json() == kept.result.to_json()
    np.testing.assert_array_equal(again.predictions, kept.predictions)


def test_temporary_files_are_counted_if_the_workers_cannot_hold_the_kernel(tmp_path: Path) -> None:
    plan, _ = plan_in(tmp_path, parse_config(values_of("one output", SMALL), "a test"))
    (dataset,) = plan.datasets
    memory = dataset.of(PanelFitTask)[0].memory
    assert memory.samples == 80
    assert memory.file_bytes == 2 * memory.kernel_bytes  # panels of the kernel and of its factor
    enough = memory.other_bytes + 20 * memory.panel_bytes + memory.kernel_bytes
    assert plan.temporary_bytes(1, enough) == memory.file_bytes
    assert plan.temporary_bytes(2, None) == plan.temporary_bytes(2, memory.other_bytes) == 2 * memory.file_bytes
    assert plan.temporary_bytes(9, None) == 3 * memory.file_bytes, "there are three tasks"
    assert plan.temporary_bytes(2, enough) == 0
    plan.check_temporary_files(2 * memory.file_bytes, "/tmp", 2, None)
    with pytest.raises(TooLargeError, match=r"temporary files of .* for 2 worker\(s\), but /tmp has .*TMPDIR"):
        plan.check_temporary_files(2 * memory.file_bytes - 1, "/tmp", 2, None)


def test_memory_that_is_too_small_for_any_tile_is_refused(tmp_path: Path) -> None:
    message = (
        r"fit\.memory = '9 KiB' is too small to solve the fits of dataset 'data' in parts"
        r".*at least '60 KiB', .*or a smaller \[storage\] tile"
    )
    with pytest.raises(ConfigError, match=message):
        plan_in(tmp_path, parse_config(values_of("one output", "9 KiB"), "a test"))
    for memory, tile in (("60 KiB", 6), ("11 KiB", 1)):
        (dataset,) = plan_in(tmp_path, parse_config(values_of("one output", memory, tile=tile), "a test"))[0].datasets
        assert {task.memory.kept_bytes for task in dataset.of(PanelFitTask)} == {0}
