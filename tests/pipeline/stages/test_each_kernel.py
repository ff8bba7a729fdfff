"""Fits of single kernels of Gaussian families, and their tables, against plain scripts."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.stages.single_kernels import EachKernelTask
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import parsed, synthetic_values
from tests.helpers.sweeps import resume_here, run_here
from tests.pipeline.stages.one_stage_sweep import FOLDS, OneStageRun, selected


@pytest.mark.parametrize(
    ("name", "task"), [("wave", "regression"), ("flowers", "regression"), ("flowers", "classification")]
)
def test_the_error_of_each_kernel_equals_that_of_a_fit_of_this_kernel_alone(
    one_stage_run: OneStageRun, name: str, task: str
) -> None:
    root, plan, trials = one_stage_run
    values = [value for (value,) in plan.config.fit.path(task)]
    for trial in range(FOLDS):
        plain = trials[name, task, trial]
        table = selected(root, "kernels", dataset=name, task=task, trial=trial)
        for k, error in enumerate(table["error"]):
            if not plain.trace[k]:
                assert np.isnan(error)
                continue
            path = plain.path(np.eye(len(plain.trace))[k], values)
            best = int(np.argmin([errors.validation for errors in path]))
            assert error == pytest.approx(path[best].test, rel=1e-5)


def test_only_a_constant_kernel_has_an_empty_error(one_stage_run: OneStageRun) -> None:
    table = selected(one_stage_run[0], "kernels")
    empty = table["error"].isna()
    assert (empty == (table["kernel"] == "gaussian(2^-1000)")).all()
    assert empty.sum() == FOLDS


def test_single_kernels_are_fitted_in_batches(one_stage_run: OneStageRun) -> None:
    wave = [task.kernels for task in one_stage_run[1].datasets[0].of(EachKernelTask) if task.trial == 0]
    assert wave == [range(2), range(2, 4), range(4, 5)]


def test_each_kernel_has_no_row_in_the_results(one_stage_run: OneStageRun) -> None:
    rows = read_rows(LocalStorage(one_stage_run[0]))
    assert "each-kernel" not in set(rows["method"])
    assert not (one_stage_run[0] / "weights.zarr/wave/regression/each-kernel").exists()


def test_each_kernel_is_not_counted_as_a_method_with_results(tmp_path: Path) -> None:
    """The report counts the methods of its tables, and the terminal counts the same ones."""
    run_here(tmp_path, parsed(synthetic_values() | {"methods": ["unif", "each-kernel"]}))
    assert "1 dataset, 1 method, 3 trials" in resume_here(tmp_path)[1]
    assert re.search("<b>1</b> method<", (tmp_path / "report.html").read_text())


def test_correlation_is_that_of_means_over_trials(one_stage_run: OneStageRun) -> None:
    root, plan, _ = one_stage_run
    table = pd.read_csv(root / "results/correlation.csv")
    expected = [(dataset.name, task) for dataset in plan.datasets for task in dataset.problems]
    assert list(zip(table["dataset"], table["task"], strict=True)) == expected
    for row in table.to_dict("records"):
        kernels = selected(root, "kernels", dataset=row["dataset"], task=row["task"])
        names = [name for name in kernels["kernel"].unique() if name != "gaussian(2^-1000)"]
        assert row["kernels"] == len(names) == (4 if row["dataset"] == "wave" else 5)
        mean = {
            column: np.array([kernels[column][kernels["kernel"] == name].mean() for name in names])
            for column in ("alignment_train", "uncentered_alignment_train", "error")
        }
        for column, source in (("centered", "alignment_train"), ("uncentered", "uncentered_alignment_train")):
            assert row[column] == pytest.approx(np.corrcoef(mean[source], 1 - mean["error"])[0, 1])
