"""Rank-one families: the stored results of one-stage methods solve their problems."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from sklearn.svm import SVC

from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Floats, Trial
from tests.pipeline.stages.rank_one_sweep import FOLDS, RankOneRun, Trials, cells, check_measures, records


def one_stage_rows(root: Path, name: str, task: str, method: str) -> list[dict[str, Any]]:
    keys = ["dataset", "task", "method", "trial"]
    chosen = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert (chosen["status"] == "ok").all()
    path = pd.read_csv(root / "results/path.csv").query(f"method == '{method}'")
    joined = chosen.merge(path, on=[*keys, "regularisation", "validation_error"], suffixes=("", "_path"))
    joined = joined[joined["test_error"] == joined["error"]].drop_duplicates("trial")
    assert list(joined["trial"]) == list(range(FOLDS))
    return records(joined)


def saddle_value(plain: Trial, budget: float) -> float:
    """Return `max 2 alpha'1 - Lambda t`, where t bounds the form of every kernel, by a general-purpose solver."""
    y, n = plain.y[plain.train], plain.train.sum()
    signed = y[:, None] * plain.inner * y

    def room(x: Floats) -> Floats:
        return np.asarray(x[-1] - np.einsum("i,kij,j->k", x[:-1], signed, x[:-1]))

    def slope(x: Floats) -> Floats:
        return np.column_stack([-2 * (signed @ x[:-1]), np.ones(len(signed))])

    linear = np.append(np.full(n, -2.0), budget)
    minimize: Any = scipy.optimize.minimize  # its type does not allow constraints of two kinds
    solved = minimize(
        lambda x: float(linear @ x),
        np.append(np.full(n, 0.1), 1.0),
        jac=lambda _: linear,
        method="SLSQP",
        bounds=scipy.optimize.Bounds(0.0, np.append(np.ones(n), np.inf)),
        constraints=[
            scipy.optimize.NonlinearConstraint(room, 0.0, np.inf, jac=slope),
            scipy.optimize.LinearConstraint(np.append(y, 0.0), 0.0, 0.0),
        ],
        options={"maxiter": 500, "ftol": 1e-9},
    )
    assert solved.success, solved.message
    return float(-solved.fun)


def test_l1_svm_is_the_svm_of_its_kernel_and_no_other_kernel_is_better(
    rank_one_run: RankOneRun, rank_one_trials: Trials
) -> None:
    for name in ("sides", "documents"):
        rows = one_stage_rows(rank_one_run[0], name, "classification", "l1-svm")
        for (trial, plain), row in zip(cells(rank_one_trials, name, "classification"), rows, strict=True):
            mu = RunStore(LocalStorage(rank_one_run[0])).read(WEIGHTS, f"{name}/classification/l1-svm", trial)
            check_measures(row, mu, plain)
            budget, y = row["regularisation"], plain.y[plain.train]
            kernel = budget * plain.combined(mu)  # the weights sum to Lambda, and C is 1
            machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(kernel[plain.train], y)
            wrong = machine.predict(kernel) != plain.y
            # A sample on the decision boundary may be assigned to either side.
            assert row["error"] == pytest.approx(wrong[plain.test].mean(), abs=1.01 / plain.test.sum())
            assert row["train_error"] == pytest.approx(wrong[plain.train].mean(), abs=1.01 / len(y))
            signed = np.zeros(len(y))
            signed[machine.support_] = machine.dual_coef_[0]
            forms = np.einsum("i,kij,j->k", signed, plain.inner, signed)
            value = 2 * np.abs(signed).sum() - budget * (mu @ forms)  # at the best alpha for mu: above the optimum
            assert value == pytest.approx(saddle_value(plain, budget), rel=1e-3)
            assert row["certificate_path"] == row["certificate"]


def test_l2_krr_has_weights_proportional_to_their_forms(rank_one_run: RankOneRun, rank_one_trials: Trials) -> None:
    for name in ("numbers", "documents"):
        rows = one_stage_rows(rank_one_run[0], name, "regression", "l2-krr")
        for (trial, plain), row in zip(cells(rank_one_trials, name, "regression"), rows, strict=True):
            mu = RunStore(LocalStorage(rank_one_run[0])).read(WEIGHTS, f"{name}/regression/l2-krr", trial)
            check_measures(row, mu, plain)
            kernel = row["regularisation"] / np.linalg.norm(mu) * plain.combined(mu)  # their norm is Lambda
            errors = plain.fit(kernel, 1.0)
            assert row["error"] == pytest.approx(errors.test, rel=1e-3)
            assert row["train_error"] == pytest.approx(errors.train, rel=1e-3)
            alpha = np.linalg.solve(kernel[plain.train] + np.eye(len(plain.yc)), plain.yc)
            forms = np.einsum("i,kij,j->k", alpha, plain.inner, alpha)
            np.testing.assert_allclose(mu, forms / forms.sum(), rtol=1e-2, atol=1e-4)


def test_align_krr_solves_its_problem(rank_one_run: RankOneRun, rank_one_trials: Trials) -> None:
    for name in ("numbers", "documents"):
        rows = one_stage_rows(rank_one_run[0], name, "regression", "align-krr")
        for (trial, plain), row in zip(cells(rank_one_trials, name, "regression"), rows, strict=True):
            mu = RunStore(LocalStorage(rank_one_run[0])).read(WEIGHTS, f"{name}/regression/align-krr", trial)
            check_measures(row, mu, plain)
            y = plain.yc / np.linalg.norm(plain.yc)
            reward = row["gamma"] * plain.a / (plain.yc @ plain.yc)
            penalty = row["regularisation"] * plain.products + row["gamma1"] * np.eye(len(mu))
            inner = plain.combined(mu)[plain.train]

            def value(
                log_scale: float,
                mu: Floats = mu,
                y: Floats = y,
                inner: Floats = inner,
                reward: Floats = reward,
                penalty: Floats = penalty,
            ) -> float:
                v = np.exp(log_scale) * mu
                solved = np.linalg.solve(np.exp(log_scale) * inner + np.eye(len(y)), y)
                return float(y @ solved - reward @ v + v @ penalty @ v)

            # Stored weights sum to one; their scale is the minimizer of the objective.
            scale = float(
                np.exp(
                    scipy.optimize.minimize_scalar(
                        value, bounds=(-10, 25), method="bounded", options={"xatol": 1e-12}
                    ).x
                )
            )
            errors = plain.fit(scale * plain.combined(mu), 1.0)
            assert row["error"] == pytest.approx(errors.test, rel=1e-4)
            assert row["train_error"] == pytest.approx(errors.train, rel=1e-4)
            alpha = np.linalg.solve(scale * inner + np.eye(len(y)), y)
            pull = np.einsum("i,kij,j->k", alpha, plain.inner, alpha) + reward
            slope = (2 * scale * penalty @ mu - pull) / pull.max()
            assert slope.min() >= -1e-4
            assert np.abs(slope[mu > 0]).max() <= 1e-4
