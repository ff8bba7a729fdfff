"""Paths of rank-one kernels that are fitted alone, against fits of the same column by other learners."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.kernel_ridge import KernelRidge

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners import single_columns
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.few_columns import fit_factored_path
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.single_columns import fit_single_column_path, single_column_errors

RIDGES, COSTS = [1.0, 0.1, 0.001], [0.5, 8.0, 128.0]
COLUMNS = 6


def numbers(seed: int, labels: str) -> tuple[RankOneKernels, Split]:
    """Return continuous columns, for which no decision value is zero, and labels of some kind."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(90, COLUMNS))
    noisy = x[:, :2] + 0.5 * rng.normal(size=(90, 2))
    target = {
        "output": noisy[:, :1] + 3.0,
        "outputs": noisy * [1.0, 10.0],
        "two": np.where(noisy[:, :1] > 0.2, 1.0, -1.0),
        "three": np.eye(3)[np.digitize(noisy[:, 0], [-0.5, 0.6])],
    }[labels]
    split = Split(np.asarray(target), np.arange(50), np.arange(50, 70), np.arange(70, 90))
    sparse = scipy.sparse.csr_array(x)
    return RankOneKernels.of(sparse[split.train], sparse[split.held_out]), split


@pytest.mark.parametrize("labels", ["output", "outputs", "two", "three"])
@pytest.mark.parametrize("metric", ["", "other"])
def test_a_path_equals_that_of_a_kernel_of_one_column(labels: str, metric: str) -> None:
    kernels, split = numbers(0, labels)
    problem, values = ("regression", RIDGES) if "output" in labels else ("classification", COSTS)
    name = metric and ("mae" if problem == "regression" else "balanced_error")
    weight = "balanced" if metric and problem == "classification" else None
    validation, test = single_column_errors(problem, kernels, split, values, weight, name)
    for k in range(COLUMNS):
        chosen = kernels.only(np.array([k]))
        factor = WeightedColumns.of(chosen, np.ones(1)).kernel()
        metrics = ("rmse",) if problem == "regression" else ("misclassification", "f1")
        options = FitOptions(values, metrics, name, weight)
        expected = fit_factored_path(problem, factor, split, options)
        path = fit_single_column_path(problem, chosen, split, options)
        assert path.validation_errors == pytest.approx(expected.validation_errors)
        assert path.test_errors == pytest.approx(expected.test_errors)
        assert path.train_errors == pytest.approx(expected.train_errors)
        assert path.metrics == pytest.approx(expected.metrics)
        assert path.best == expected.best
        assert path.certificates == pytest.approx([0.0] * 3, abs=1e-9)
        assert (validation[k], test[k]) == (path.validation_errors[path.best], path.test_errors[path.best])


def test_ridge_equals_that_of_scikit_learn() -> None:
    kernels, split = numbers(1, "output")
    column, y = _dense(kernels, 2), split.target[split.train, 0]
    validation, _ = single_column_errors("regression", kernels, split, RIDGES)
    errors = []
    for ridge in RIDGES:
        machine = KernelRidge(alpha=ridge, kernel="linear").fit(column[0], y - y.mean())
        residual = machine.predict(column[1][: len(split.validation)]) + y.mean() - split.target[split.validation, 0]
        errors.append(float(np.sqrt(np.mean(residual**2))))
    assert validation[2] == pytest.approx(min(errors))


def test_kernels_in_parts_have_the_same_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, split = numbers(2, "two")
    whole = single_column_errors("classification", kernels, split, COSTS)
    monkeypatch.setattr(single_columns, "PREDICTION_BYTES", 1)
    parts = single_column_errors("classification", kernels, split, COSTS)
    assert all((a == b).all() for a, b in zip(whole, parts, strict=True))


def test_a_kernel_without_a_certified_fit_has_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, split = numbers(2, "three")
    monkeypatch.setattr(single_columns, "MAX_GAP", -1.0)
    validation, test = single_column_errors("classification", kernels, split, COSTS)
    assert np.isnan(validation).all()
    assert np.isnan(test).all()


def _dense(kernels: RankOneKernels, k: int) -> tuple[Floats, Floats]:
    chosen = kernels.only(np.array([k]))
    return chosen.columns.toarray() - chosen.means, chosen.held_out.toarray() - chosen.means
