"""Final fits on the training and validation samples, against plain scripts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.learners.one_stage import learn
from tests.helpers.plain import Floats, Trial
from tests.pipeline.stages.test_baselines import FOLDS, GAMMAS, SWEEP, Run, finished, trials

METHODS = ["unif", "alignf-linear", "l2-krr"]
VALUES: dict[str, Any] = SWEEP | {
    "methods": METHODS,
    "fit": {**SWEEP["fit"], "refit": "train+validation", "l2-krr": {"from": 4, "to": 8, "step": 2}},
    "dataset": [*SWEEP["dataset"][:1], *SWEEP["dataset"][2:]],
}


@pytest.fixture(scope="module")
def refitted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("run"), VALUES)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    fit = {key: value for key, value in VALUES["fit"].items() if key != "refit"}
    return finished(tmp_path_factory.mktemp("run"), VALUES | {"fit": fit})


def joined_error(trial: Trial, kernel: Floats, value: float) -> float:
    """Return the test error of a fit to the training and validation samples, given a kernel of all samples."""
    chosen = trial.train | trial.validation
    columns = kernel[:, chosen]
    means = columns.mean(axis=1)
    centered = columns - means[:, None] - means[chosen] + means[chosen].mean()
    joined = Trial(trial.task, trial.y, chosen, chosen, trial.test, trial.raw, trial.kernels, trial.trace, trial.raw)
    return joined.fit(centered, value).test


def base_kernels(run: Run, name: str) -> Floats:
    """Return the base kernels of all samples, (p, m, m)."""
    features = run[2][name].features
    if name == "wave":
        return np.array([rbf_kernel(features, gamma=gamma) for gamma in GAMMAS])
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    return np.asarray(np.einsum("ik,jk->kij", dense, dense))


def rows_of(run: Run, name: str, method: str) -> list[dict[str, Any]]:
    """Return the rows of a method, by trial."""
    found = run[3].query("dataset == @name and method == @method")
    return [{str(key): value for key, value in row.items()} for row in found.to_dict("records")]


def test_only_results_on_the_test_fold_change(refitted: Run, trained: Run) -> None:
    same = [
        "dataset",
        "method",
        "trial",
        "validation_error",
        "regularisation",
        "alignment_train",
        "n_active",
        "at_edge",
    ]
    pd.testing.assert_frame_equal(refitted[3][same], trained[3][same])
    assert (refitted[3]["error"] != trained[3]["error"]).mean() > 0.5
    pd.testing.assert_frame_equal(refitted[4], trained[4])
    first, second = (pd.read_csv(run[0] / "results/path.csv") for run in (refitted, trained))
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize("name", ["wave", "columns", "wines"])
def test_a_combined_kernel_keeps_its_weights_and_its_regularisation_per_sample(refitted: Run, name: str) -> None:
    grams = base_kernels(refitted, name)
    found = rows_of(refitted, name, "unif")
    for number, trial in enumerate(trials(refitted, name)):
        varies = trial.trace > 0
        combined = np.tensordot(1.0 / (trial.trace[varies] * varies.sum()), grams[varies], 1)
        share = trial.train.sum() / (trial.train | trial.validation).sum()
        expected = joined_error(trial, share * combined, found[number]["regularisation"])
        assert found[number]["error"] == pytest.approx(expected, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("name", ["wave", "columns", "wines"])
def test_the_best_single_kernel_is_scaled_to_trace_one_again(refitted: Run, name: str) -> None:
    grams = base_kernels(refitted, name)
    found = rows_of(refitted, name, "best-single")
    names = refitted[4].query("dataset == @name and trial == 0")["kernel"].tolist()
    weights = pd.read_csv(refitted[0] / "results/weights.csv").query("dataset == @name and method == 'best-single'")
    for number, trial in enumerate(trials(refitted, name)):
        (kernel,) = weights[weights["trial"] == number]["kernel"]
        gram, chosen = grams[names.index(str(kernel))], trial.train | trial.validation
        square = gram[np.ix_(chosen, chosen)]
        expected = joined_error(
            trial, gram / (np.trace(square) - square.mean(axis=0).sum()), found[number]["regularisation"]
        )
        assert found[number]["error"] == pytest.approx(expected, rel=1e-5, abs=1e-9)


def test_the_mean_is_that_of_training_and_validation_samples(refitted: Run) -> None:
    found = rows_of(refitted, "wave", "mean")
    for number, trial in enumerate(trials(refitted, "wave")):
        wrong = trial.y[trial.test] - trial.y[trial.train | trial.validation].mean()
        assert found[number]["error"] == pytest.approx(np.sqrt(np.mean(wrong**2)))


@pytest.mark.parametrize("name", ["wave", "columns"])
def test_a_one_stage_method_learns_its_weights_again(refitted: Run, name: str) -> None:
    grams, found = base_kernels(refitted, name), rows_of(refitted, name, "l2-krr")
    for number, trial in enumerate(trials(refitted, name)):
        chosen, test = np.flatnonzero(trial.train | trial.validation), np.flatnonzero(trial.test)
        squares = grams[:, chosen][:, :, chosen]
        traces = np.trace(squares, axis1=1, axis2=2) - squares.mean(axis=1).sum(axis=1)
        kernels = GramKernels.of(grams, traces, chosen, np.concatenate([chosen, test]))
        split = Split(trial.y.reshape(-1, 1), chosen, chosen, test)
        result = learn(L2Krr(), "regression", kernels, split, [(found[number]["regularisation"],)])
        assert found[number]["error"] == pytest.approx(result.path.test_errors[0], rel=1e-5)


def test_predictions_of_the_test_fold_are_those_of_the_final_fit(refitted: Run, trained: Run) -> None:
    tables = [pd.read_parquet(run[0] / "results/predictions.parquet") for run in (refitted, trained)]
    final, first = (table.query("task == 'regression' and method == 'unif'") for table in tables)
    validation = final["role"] == "validation"
    assert (final[validation]["prediction"] == first[validation.to_numpy()]["prediction"]).all()
    for (name, number), group in final[~validation].groupby(["dataset", "trial"]):
        error = np.sqrt(np.mean((group["true"] - group["prediction"]) ** 2))
        assert rows_of(refitted, str(name), "unif")[int(str(number))]["error"] == pytest.approx(error)
    assert final["trial"].nunique() == FOLDS
