"""Columns that evaluate the theorems, against plain scripts."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.stages.cells import fit_kernel, fit_signed_kernel
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from tests.helpers.plain import Floats, aligned
from tests.pipeline.stages.one_stage_sweep import OneStageRun, selected


def label_ratio(labels: Floats) -> float:
    yc = labels - labels.mean()
    return float((yc**2).max() ** 2 / np.mean(np.outer(yc, yc) ** 2))


def test_bounds_of_two_stage_kernels_equal_those_of_the_theorems(one_stage_run: OneStageRun) -> None:
    root, _, trials = one_stage_run
    bounds = pd.read_csv(root / "results/bounds.csv")
    assert list(bounds.columns) == [column.name for column in TABLES["bounds"].columns]
    assert list(bounds["method"].unique()) == ["alignf"]  # that of alignf-linear has negative weights
    rows = read_rows(LocalStorage(root)).set_index(["dataset", "task", "method", "trial"])
    path = pd.read_csv(root / "results/path.csv")
    for bound in bounds.to_dict("records"):
        key = bound["dataset"], bound["task"], bound["method"], bound["trial"]
        plain = trials[bound["dataset"], bound["task"], bound["trial"]]
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, "/".join(key[:3]), bound["trial"])
        kernel, y = plain.combined(mu), plain.y[plain.train]
        inner, n = kernel[plain.train], len(y)
        assert bound["alignment_train"] == rows["alignment_train"][key]

        ratio = max(np.diag(inner).max() ** 2 / np.mean(inner**2), label_ratio(y))
        assert bound["theorem12_evaluated"] == pytest.approx(
            18 * ratio * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))), rel=1e-6
        )
        # h(x) = E[y' K(x, x')] / sqrt(E[K^2] E[y^2]), with expectations over the training set (section 4.2).
        yc, norm = plain.yc, np.sqrt(np.mean(inner**2) * np.mean(plain.yc**2))
        h = (kernel @ yc / n) / norm
        rho = np.mean(yc * h[plain.train]) / np.sqrt(np.mean(yc**2))
        assert rho == pytest.approx(aligned(inner, y), rel=1e-9)
        if bound["task"] == "classification":
            gamma = np.sqrt(np.mean(inner**2, axis=1).max() / np.mean(inner**2)) / np.var(y)  # as in the footnote
            error, expected = np.mean(np.where(h >= 0, 1, -1)[plain.test] != plain.y[plain.test]), 1 - rho / gamma
        else:
            predicted = y.mean() + y.std() * h[plain.test]
            error, expected = np.sqrt(np.mean((predicted - plain.y[plain.test]) ** 2)), y.std() * np.sqrt(2 * (1 - rho))
        assert bound["predictor_error"] == pytest.approx(error, rel=1e-6)
        theorem, other = (
            ("theorem13_evaluated", "theorem14_evaluated")
            if bound["task"] == "classification"
            else ("theorem14_evaluated", "theorem13_evaluated")
        )
        assert bound[theorem] == pytest.approx(expected, rel=1e-6)
        assert np.isnan(bound[other])

        assert not (mu < 0).any()
        if bound["task"] == "classification":
            assert np.isnan(bound["theorem17_evaluated"])
            unnormalised = (y @ inner @ y) / n**2
            assert bound["theorem15_evaluated"] == pytest.approx(1 - unnormalised / np.diag(inner).max(), rel=1e-6)
            continue
        # Theorem 17 with Lambda_1 = 1; the centered Gaussian's diagonal is at most 4 before scaling.
        (best,) = [
            row
            for row in path.to_dict("records")
            if (row["dataset"], row["task"], row["method"], row["trial"]) == key
            and row["regularisation"] == rows["regularisation"][key]
        ]
        largest, lambda0 = 4 / plain.trace[plain.trace > 0].min(), best["regularisation"] / n
        m = np.abs(yc).max()
        m1 = 2 * (1 + np.sqrt(largest / lambda0)) * m
        m2 = 2 * largest / lambda0 * (1 + 1 / lambda0) * m
        spread = np.sqrt(np.log(1 / 0.05) / (2 * n))
        total = best["train_error"] ** 2 + 2 * m1 * m2 / n + (1 + 16 * m2 / m1) * m1 * m2 / 4 * spread
        assert bound["theorem16_evaluated"] == pytest.approx(m2 / n, rel=1e-6)
        assert bound["theorem17_evaluated"] == pytest.approx(np.sqrt(total), rel=1e-6)


def trial_kernel(kernel: Floats, split: Split) -> TrialKernel:
    return TrialKernel.of(kernel, split.train, split.held_out)


def test_the_bound_on_the_error_approaches_the_training_error_for_a_large_ridge() -> None:
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(30, 3)), rng.normal(size=30) + 5.0
    split = Split(y[:, None], np.arange(10, 30), np.arange(5, 10), np.arange(5))
    kernel = features @ features.T
    found = fit_kernel("regression", trial_kernel(kernel, split), split, FitOptions((2.0**60,)), largest_diagonal=1.0)
    assert found.theorems.theorem17 == pytest.approx(np.std(y[10:]), rel=1e-6)
    signed = fit_signed_kernel("regression", kernel, split, FitOptions((2.0**60,)))
    assert signed.theorems.is_empty
    several = replace(split, target=np.column_stack([y, features[:, 0]]))
    found = fit_kernel("regression", trial_kernel(kernel, several), several, FitOptions((1.0,)), largest_diagonal=1.0)
    assert found.theorems.is_empty


def test_kernels_have_their_unnormalised_alignment_and_their_bound(one_stage_run: OneStageRun) -> None:
    root, _, trials = one_stage_run
    for (name, task, trial), plain in trials.items():
        table = selected(root, "kernels", dataset=name, task=task, trial=trial)
        n, y = len(plain.yc), plain.y[plain.train]
        np.testing.assert_allclose(table["unnormalised_alignment_train"], plain.a / n**2, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(table["alignment_train"], plain.alignments(), rtol=1e-6)
        np.testing.assert_allclose(table["alignment_test"], plain.test_alignments(), rtol=1e-6)
        for where in ("train", "test"):
            debiased = [plain.debiased_alignment(weights, where) for weights in np.eye(len(plain.trace))]
            np.testing.assert_allclose(table[f"debiased_alignment_{where}"], debiased, atol=1e-9)
        np.testing.assert_allclose(
            RunStore(LocalStorage(root)).read(STATISTICS, f"{name}/{task}/theorem12", trial, allow_nan=True),
            table["theorem12_evaluated"],
        )
        for k, bound in enumerate(table["theorem12_evaluated"]):
            if not plain.trace[k]:
                assert np.isnan(bound)
                continue
            squares = np.mean((plain.inner[k] * plain.trace[k]) ** 2)
            ratio = max(1 / squares, label_ratio(y))  # K(x, x) is 1
            assert bound == pytest.approx(18 * ratio * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))), rel=1e-6)
