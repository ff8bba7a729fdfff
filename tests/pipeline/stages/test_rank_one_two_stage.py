"""Rank-one families: weights and rows of two-stage methods, against a plain script."""

import numpy as np
import pandas as pd
import pytest
import scipy.optimize

from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Floats, Trial
from tests.pipeline.stages.rank_one_sweep import (
    CELLS,
    CONSTANT,
    TWO_STAGE,
    RankOneRun,
    Trials,
    cells,
    check_measures,
    records,
)


def reference_weights(method: str, plain: Trial) -> Floats | None:
    """Return the weights of a two-stage method, or None if they are not unique."""
    own = np.nan_to_num(plain.alignments())
    if method == "unif":
        values = (plain.trace > 0).astype(np.float64)
    elif method.startswith("align") and not method.startswith("alignf"):
        values = own if method == "align" else plain.a**2  # q = 1.5: the power 1 / (q - 1)
    elif method == "best-kernel":
        values = (np.arange(len(own)) == np.argmax(own)).astype(np.float64)
    else:
        alive = np.flatnonzero(plain.trace > 0)
        M, a = plain.products[np.ix_(alive, alive)], plain.a[alive]
        if np.linalg.matrix_rank(M) < len(M):
            return None
        root = np.linalg.cholesky(M)
        values = np.zeros_like(own)
        if method == "alignf":
            values[alive], _ = scipy.optimize.nnls(root.T, np.linalg.solve(root, a))
        else:
            values[alive] = np.linalg.solve(M, a)
    return np.asarray(values / np.abs(values).sum())


@pytest.mark.parametrize("method", TWO_STAGE)
@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("numbers", "regression"),
        ("sides", "classification"),
        ("documents", "regression"),
        ("documents", "classification"),
    ],
)
def test_weights_of_two_stage_methods(
    rank_one_run: RankOneRun, rank_one_trials: Trials, name: str, task: str, method: str
) -> None:
    for trial, plain in cells(rank_one_trials, name, task):
        mu = RunStore(LocalStorage(rank_one_run[0])).read(WEIGHTS, f"{name}/{task}/{method}", trial)
        assert np.abs(mu).sum() == pytest.approx(1.0)
        assert not mu[plain.trace == 0].any()
        expected = reference_weights(method, plain)
        if method == "best-kernel":
            # Columns that are equal except for their order have equal alignments, up to rounding.
            own, chosen = np.nan_to_num(plain.alignments()), np.flatnonzero(mu)
            assert len(chosen) == 1
            assert own[chosen[0]] == pytest.approx(own.max(), rel=1e-12)
        elif expected is not None:
            np.testing.assert_allclose(mu, expected, rtol=1e-6, atol=1e-8)
        elif method == "alignf":
            # Equal kernels may share a weight in many ways, so the optimality conditions are checked instead.
            assert (mu >= 0).all()
            v = mu * (mu @ plain.a) / (mu @ plain.products @ mu)
            slope = (plain.products @ v - plain.a) / plain.a.max()
            assert slope.min() >= -1e-8
            assert np.abs(slope[mu > 0]).max() <= 1e-8
        else:
            # M is singular or nearly so; no weights have a larger alignment than these, up to rounding.
            values, vectors = np.linalg.eigh(plain.products)
            kept = vectors[:, values > 1e-10 * values.max()]
            largest = plain.a @ kept @ np.diag(1 / values[values > 1e-10 * values.max()]) @ kept.T @ plain.a
            assert (mu @ plain.a) ** 2 / (mu @ plain.products @ mu) == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize(("name", "task", "method"), [cell for cell in CELLS if cell[2] in TWO_STAGE])
def test_rows_of_two_stage_methods_equal_a_plain_script(
    rank_one_run: RankOneRun, rank_one_trials: Trials, name: str, task: str, method: str
) -> None:
    root, plan, _ = rank_one_run
    rows = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert (rows["status"] == "ok").all()
    values = [value for (value,) in plan.config.fit.path(task)]
    path = pd.read_csv(root / "results/path.csv").query(
        f"dataset == '{name}' and task == '{task}' and method == '{method}'"
    )
    for (trial, plain), row in zip(cells(rank_one_trials, name, task), records(rows), strict=True):
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", trial)
        found = plain.path(mu, values)
        table = path[path["trial"] == trial]
        assert list(table["regularisation"]) == values
        assert table[["gamma", "gamma1"]].isna().all(axis=None)
        # Machines on more columns than training samples are fits of the kernel, with the tolerance of libsvm.
        kernel_machine = name == "documents" and task == "classification"
        assert (table["certificate"] <= (1e-3 if kernel_machine else 1e-6)).all()
        for column, of in (("train_error", "train"), ("validation_error", "validation"), ("test_error", "test")):
            np.testing.assert_allclose(table[column], [getattr(each, of) for each in found], rtol=1e-5)
        best = int(np.argmin(table["validation_error"]))
        assert row["regularisation"] == values[best]
        assert row["error"] == pytest.approx(found[best].test, rel=1e-5)
        assert row["validation_error"] == pytest.approx(found[best].validation, rel=1e-5)
        check_measures(row, mu, plain)


def test_the_constant_column_has_weight_zero_in_every_method(rank_one_run: RankOneRun) -> None:
    for name, task, method in CELLS:
        if name in ("numbers", "sides"):
            mu = RunStore(LocalStorage(rank_one_run[0])).read(WEIGHTS, f"{name}/{task}/{method}")
            assert not mu[:, CONSTANT].any(), method
            assert mu.any(axis=1).all()
