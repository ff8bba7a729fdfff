"""Baselines in the tables of sweeps, against plain scripts and against other sweeps."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.stages import rank_one_kernels
from kernel_pipeline.stages.single_kernels import SingleKernelsTask
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Trial, gaussian_trial, rank_one_trial
from tests.helpers.sweeps import plan_in, run_here, write_results

FOLDS = 3
GAMMAS = [2.0**exponent for exponent in (-5, -4, -3)]
GAUSSIAN: dict[str, Any] = {"family": "gaussian", "log2_gamma": [-5, -3]}
SWEEP: dict[str, Any] = {
    "name": "baselines",
    "methods": ["unif"],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -12, "to": 0, "step": 4}, "svm": {"from": 2, "to": 8, "step": 3}},
    "storage": {"tile": 16},
    "dataset": [
        {"name": "wave", "source": "synthetic", "task": "regression", "rows": 45, "kernels": [GAUSSIAN]},
        {
            "name": "flowers",
            "source": "sklearn",
            "id": "iris",
            "task": "classification",
            "rows": 60,
            "scale": "standard",
            "fit_on": "train",
            "kernels": [GAUSSIAN],
        },
        {
            "name": "columns",
            "source": "synthetic",
            "task": "regression",
            "rows": 45,
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "wines",
            "source": "sklearn",
            "id": "wine",
            "task": "classification",
            "rows": 60,
            "kernels": [{"family": "rank-one"}],
        },
    ],
}
Run = tuple[Path, Plan, dict[str, PreparedDataset], pd.DataFrame, pd.DataFrame]


def finished(root: Path, values: dict[str, Any]) -> Run:
    """Run a sweep in this process; return its directory, plan and samples, and the tables of rows and kernels."""
    plan, samples, reports = run_here(root, parse_config(values, "a test"))
    rows = write_results(root, plan, reports)
    kernels = TableContext(plan, reports, RunStore(LocalStorage(root))).required_table("kernels")
    return root, plan, {loaded.name: loaded for loaded in samples}, rows, kernels


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the finished sweep, in which each task fits two columns of rank-one families."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_one_kernels, "ENTRIES_PER_TASK", 2 * 60)
        return finished(tmp_path_factory.mktemp("run"), SWEEP)


def trials(run: Run, name: str) -> list[Trial]:
    """Return the trials of a dataset from whole matrices."""
    _, plan, samples, _, _ = run
    (dataset,) = (dataset for dataset in plan.datasets if dataset.name == name)
    (problem,) = dataset.problems
    made = rank_one_trial if dataset.rank_one else lambda loaded, *where: gaussian_trial(loaded, GAMMAS, *where)
    return [made(samples[name], problem, trial, FOLDS) for trial in range(FOLDS)]


def test_baselines_follow_the_listed_methods(run: Run) -> None:
    rows = run[3]
    for name, group in rows.groupby("dataset"):
        constant = "mean" if name in ("wave", "columns") else "majority"
        assert list(dict.fromkeys(group["method"])) == ["unif", "best-single", "linear", constant]
    assert (rows["status"] == "ok").all()


def test_constant_baselines_have_neither_weights_nor_alignments_nor_a_path(run: Run) -> None:
    root, _, _, rows, _ = run
    constant = rows[rows["method"].isin(["majority", "mean"])]
    empty = ["alignment_test", "alignment_train", "regularisation", "n_kernels", "n_active", "certificate", "at_edge"]
    assert constant[empty].isna().all(axis=None)
    assert constant[["error", "validation_error"]].notna().all(axis=None)
    assert not set(pd.read_csv(root / "results/path.csv")["method"]) & {"majority", "mean"}


def test_constant_baselines_predict_the_mean_or_majority_of_the_training_labels(run: Run) -> None:
    rows = run[3].set_index(["dataset", "method", "trial"])
    for number, trial in enumerate(trials(run, "wave")):
        wrong = trial.y[trial.test] - trial.y[trial.train].mean()
        assert rows.loc[("wave", "mean", number), "error"] == pytest.approx(np.sqrt(np.mean(wrong**2)))
    for number, trial in enumerate(trials(run, "wines")):
        majority = trial.y[trial.train].sum(axis=0).argmax()
        expected = np.mean(trial.y[trial.test].argmax(axis=1) != majority)
        assert rows.loc[("wines", "majority", number), "error"] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["wave", "columns", "wines"])
def test_errors_of_single_kernels_are_those_of_plain_fits(run: Run, name: str) -> None:
    _, plan, _, _, kernels = run
    for number, trial in enumerate(trials(run, name)):
        values = [value for (value,) in plan.config.fit.path(trial.task)]
        table = kernels[(kernels["dataset"] == name) & (kernels["trial"] == number)]
        for k, row in enumerate(table.to_dict("records")):
            path = trial.path(np.eye(len(table))[k], values)
            best = int(np.argmin([errors.validation for errors in path]))
            assert row["validation_error"] == pytest.approx(path[best].validation, rel=1e-5, abs=1e-9)
            assert row["error"] == pytest.approx(path[best].test, rel=1e-5, abs=1e-9)
            assert row["status"] == "ok"


@pytest.mark.parametrize("name", ["wave", "flowers", "columns", "wines"])
def test_best_single_is_the_kernel_of_the_smallest_validation_error(run: Run, name: str) -> None:
    root, _, _, rows, kernels = run
    weights = pd.read_csv(root / "results/weights.csv").query("method == 'best-single'")
    for number in range(FOLDS):
        (row,) = rows[
            (rows["dataset"] == name) & (rows["method"] == "best-single") & (rows["trial"] == number)
        ].to_dict("records")
        table = kernels[(kernels["dataset"] == name) & (kernels["trial"] == number)].reset_index(drop=True)
        best = table.loc[int(table["validation_error"].argmin())]
        (chosen,) = weights[(weights["dataset"] == name) & (weights["trial"] == number)].to_dict("records")
        assert (chosen["kernel"], chosen["weight"]) == (best["kernel"], 1.0)
        assert (row["error"], row["validation_error"]) == (best["error"], best["validation_error"])
        assert (row["n_kernels"], row["n_active"], row["certificate"]) == (len(table), 1, 0.0)
        for column in ("alignment_train", "alignment_test", "debiased_alignment_test"):
            assert row[column] == pytest.approx(best[column], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["wave", "flowers"])
def test_linear_equals_a_sweep_with_a_linear_kernel(run: Run, name: str, tmp_path: Path) -> None:
    datasets = [
        {**dataset, "kernels": [{"family": "linear"}]} for dataset in SWEEP["dataset"] if dataset["name"] == name
    ]
    other = finished(tmp_path, SWEEP | {"baselines": False, "dataset": datasets})[3]
    own = run[3][(run[3]["dataset"] == name) & (run[3]["method"] == "linear")]
    for column in ("error", "validation_error", "alignment_train", "alignment_test", "regularisation"):
        assert own[column].tolist() == pytest.approx(other[column].tolist(), rel=1e-5)


def test_single_columns_are_fitted_in_batches(run: Run) -> None:
    dataset = run[1].datasets[2]
    found = [task.kernels for task in dataset.tasks if isinstance(task, SingleKernelsTask) and task.trial == 0]
    assert found == [range(first, first + 2) for first in range(0, 10, 2)]


def test_best_single_and_each_kernel_share_their_fits(run: Run, tmp_path: Path) -> None:
    both = parse_config(SWEEP | {"methods": ["unif", "each-kernel"]}, "a test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rank_one_kernels, "ENTRIES_PER_TASK", 2 * 60)
        plan, _ = plan_in(tmp_path, both)
    assert {task.identity for task in plan.tasks} == {task.identity for task in run[1].tasks}


def test_tables_are_the_same_without_stored_gram_matrices(run: Run, tmp_path: Path) -> None:
    values = SWEEP | {"dataset": SWEEP["dataset"][:2], "storage": {"tile": 16, "gram": "recompute"}}
    _, _, _, rows, kernels = finished(tmp_path, values)
    for found, expected in ((rows, run[3]), (kernels, run[4])):
        chosen = expected[expected["dataset"].isin(["wave", "flowers"])]
        assert found.to_csv(index=False) == chosen.to_csv(index=False)


def test_without_a_kernel_that_varies_best_single_fails_and_the_others_do_not(tmp_path: Path) -> None:
    flat = {**SWEEP["dataset"][0], "kernels": [{"family": "gaussian", "log2_gamma": [-1000, -1000]}]}
    _, _, _, rows, kernels = finished(tmp_path, SWEEP | {"dataset": [flat]})
    statuses = rows.set_index("method")["status"]
    assert set(statuses["best-single"]) == {"failed: no base kernel has a fit; kernels.csv states why"}
    assert set(statuses[["linear", "mean"]]) == {"ok"}
    assert set(kernels["status"]) == {"failed: the kernel is constant on the training set"}


def test_baselines_are_left_out_on_request(tmp_path: Path) -> None:
    plan, _ = plan_in(tmp_path, parse_config(SWEEP | {"baselines": False}, "a test"))
    assert {method for dataset in plan.datasets for _, method in dataset.method_keys} == {"unif"}


def test_baselines_of_several_repeats_use_the_folds_of_each(run: Run, tmp_path: Path) -> None:
    values = SWEEP | {"protocol": {"folds": FOLDS, "repeats": 2}, "dataset": [SWEEP["dataset"][0], SWEEP["dataset"][2]]}
    _, _, samples, rows, _ = finished(tmp_path, values)
    for name in ("wave", "columns"):
        found = rows[(rows["dataset"] == name) & (rows["method"] != "unif")]
        first = run[3][(run[3]["dataset"] == name) & (run[3]["method"] != "unif")]
        assert found[found["repeat"] == 0]["error"].tolist() == pytest.approx(first["error"].tolist())
        folds = RunStore(LocalStorage(tmp_path)).read(GRAM, f"{name}/folds")[1]
        second = found[(found["repeat"] == 1) & (found["method"] == "mean")]["error"].tolist()
        y = samples[name].targets["regression"]
        for number, error in enumerate(second):
            held_out = [number, (number + 1) % FOLDS]
            wrong = y[folds == number] - y[~np.isin(folds, held_out)].mean()
            assert error == pytest.approx(np.sqrt(np.mean(wrong**2)))
