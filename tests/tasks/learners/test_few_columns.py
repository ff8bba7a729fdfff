"""Fits on few columns equal those on the kernel that they form."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_on, positive_part
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels, weighted_gram
from kernel_pipeline.tasks.learners.column_svm import fit_column_machine
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.few_columns import column_svm_path, fit_factored_path
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import fit_path
from kernel_pipeline.tasks.learners.svm_certificate import best_intercept
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels, positive_part_alignment
from kernel_pipeline.tasks.statistics.debiased import Estimates
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments

TRAIN, VALIDATION, TEST = np.arange(90), np.arange(90, 120), np.arange(120, 150)


def problem(columns: int, classes: int = 2, seed: int = 0) -> tuple[scipy.sparse.csr_array, Split]:
    """Return sparse columns of 150 samples, and labels -1 and +1 or a block of classes that depend on them."""
    rng = np.random.default_rng(seed)
    values = rng.poisson(0.7, size=(150, columns)) * rng.normal(1.0, 0.2, size=columns)
    scores = values @ rng.normal(size=(columns, classes)) + rng.normal(size=(150, classes))
    target = np.sign(scores[:, :1] - np.median(scores[:, 0]))
    if classes > 2:
        target = np.eye(classes)[(scores - scores.mean(axis=0)).argmax(axis=1)]
    return scipy.sparse.csr_array(values), Split(target, TRAIN, VALIDATION, TEST)


def weighted(columns: scipy.sparse.csr_array, split: Split, weights: Floats) -> tuple[WeightedColumns, Floats]:
    """Return the weighted columns, and the dense kernel of all samples that they form."""
    kernels = RankOneKernels.of(columns[split.train], columns[split.held_out])
    return WeightedColumns.of(kernels, weights), weighted_gram(columns, weights / kernels.trace)


@pytest.mark.parametrize("outputs", [1, 3])
def test_ridge_paths_equal_those_of_the_kernel(outputs: int) -> None:
    columns, split = problem(12)
    rng = np.random.default_rng(1)
    target = columns.toarray() @ rng.normal(size=(12, outputs)) + rng.normal(size=(150, outputs))
    split = Split(target, TRAIN, VALIDATION, TEST)
    factor, kernel = weighted(columns, split, rng.dirichlet(np.ones(12)))
    ridges = [2.0**e for e in range(0, -31, -5)]
    found = fit_factored_path("regression", factor.kernel(), split, FitOptions(ridges))
    expected = fit_path("regression", TrialKernel.of(kernel, split.train, split.held_out), split, FitOptions(ridges))
    for name in ("train_errors", "validation_errors", "test_errors", "output_errors"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-5
        )  # the reference solves with a dense K + ridge I
    assert found.certificates is not None
    assert all(certificate is not None and certificate <= 1e-12 for certificate in found.certificates)
    assert found.best == expected.best


def test_ridges_that_are_not_certified_have_no_predictions() -> None:
    columns = problem(5)[0].toarray()
    values = np.column_stack([columns, columns[:, 0]])  # of rank 5, so that a tiny ridge has no accurate solution
    target = values.sum(axis=1, keepdims=True) + np.random.default_rng(4).normal(size=(150, 1))
    split = Split(target, TRAIN, VALIDATION, TEST)
    factor, _ = weighted(scipy.sparse.csr_array(values), split, np.full(6, 1 / 6))
    found = fit_factored_path("regression", factor.kernel(), split, FitOptions([1.0, 2.0**-30, 2.0**-100]))
    assert found.certificates is not None
    assert [bool(certificate and certificate > 1e-6) for certificate in found.certificates] == [False, False, True]
    for errors in (found.train_errors, found.validation_errors, found.test_errors):
        assert [error is None for error in errors] == [False, False, True]
    with pytest.raises(NotSolvedError, match=r"the relative residual of every ridge is above 1e-06; .* \[fit\] krr"):
        fit_factored_path("regression", factor.kernel(), split, FitOptions([2.0**-100]))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("classes", [2, 4])
def test_decisions_equal_those_of_libsvm(classes: int, class_weight: str | None) -> None:
    columns, split = problem(10, classes)
    factor, kernel = weighted(columns, split, np.full(10, 0.1))
    centered = center_on(kernel, split.train)
    labels = split.target[:, 0] if classes == 2 else split.target.argmax(axis=1)
    # With balanced weights and a small C, all variables are at their bounds, so the intercepts are not unique.
    values = [2.0**e for e in range(4 if class_weight else -2, 13, 2)]
    found, gaps = column_svm_path(factor.kernel(), split.target[split.train], values, class_weight)
    assert max(gaps) <= 1e-6
    for number, value in enumerate(values):
        machine = SVC(C=value, kernel="precomputed", class_weight=class_weight, tol=1e-8)
        machine.fit(centered[split.train], labels[split.train])
        if classes == 2:
            decisions = machine.decision_function(centered)
            if class_weight or np.any(np.abs(machine.dual_coef_) < value * (1 - 1e-6)):  # otherwise it is not unique
                np.testing.assert_allclose(found[:, 0, number], decisions, atol=2e-3 * np.ptp(decisions))
        else:
            assert np.mean(found[:, :, number].argmax(axis=1) != machine.predict(centered)) <= 0.02


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_bounds_the_distance_from_the_optimum(seed: int) -> None:
    columns, split = problem(6, seed=seed)
    factor, kernel = weighted(columns, split, np.full(6, 1 / 6))
    y, value = split.target[split.train][:, 0], 64.0
    machine = fit_column_machine(factor.train * np.sqrt(value), y, np.ones(len(y)))
    reference = SVC(C=value, kernel="precomputed", tol=1e-10).fit(center_on(kernel, split.train)[split.train], y)
    alpha = np.zeros(len(y))
    alpha[reference.support_] = reference.dual_coef_[0]
    optimum = np.abs(alpha).sum() - 0.5 * alpha @ center_on(kernel, split.train)[split.train] @ alpha
    decisions = np.sqrt(value) * factor.train @ machine.coefficients + machine.intercept
    objective = machine.coefficients @ machine.coefficients / 2 + np.maximum(0, 1 - y * decisions).sum()
    assert -1e-9 <= objective * value - optimum <= (machine.gap + 1e-9) * objective * value


def test_the_intercept_minimises_the_hinge_losses() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        decisions, y = rng.normal(size=30), np.sign(rng.normal(size=30))
        bounds = rng.uniform(0.5, 2.0, size=30)

        def loss(b: float, f: Floats = decisions, y: Floats = y, c: Floats = bounds) -> float:
            return float(c @ np.maximum(0, 1 - y * (f + b)))

        candidates = [loss(b) for b in y - decisions]
        assert loss(float(best_intercept(decisions, y, bounds))) == pytest.approx(min(candidates), rel=1e-12)


def test_alignments_are_those_of_the_kernel() -> None:
    columns, split = problem(8, classes=3)
    test = slice(len(VALIDATION), None)
    for weights in (np.full(8, 0.125), np.array([0.5, -0.3, 0.1, 0, 0, 0.4, -0.1, 0.2])):
        factor, kernel = weighted(columns, split, weights)
        align = positive_part_alignment if factor.is_signed else alignment_with_labels

        def expected(samples: Integers, kernel: Floats = kernel, align=align) -> Estimates:  # type: ignore[no-untyped-def]
            return Estimates(*align(kernel[np.ix_(samples, samples)], split.target[samples]))

        assert factor.alignment(split.target[TRAIN]) == pytest.approx(expected(TRAIN), rel=1e-10, nan_ok=True)
        assert factor.alignment(split.target[TEST], test) == pytest.approx(expected(TEST), rel=1e-10, nan_ok=True)
    assert np.isnan(factor.alignment(np.ones((90, 1)))).all()


def test_the_positive_part_is_that_of_the_kernel() -> None:
    columns, split = problem(9)
    weights = np.random.default_rng(3).normal(size=9)
    factor, kernel = weighted(columns, split, weights)
    found, expected = factor.kernel(), positive_part(center_on(kernel, split.train), split.train)
    np.testing.assert_allclose(found.train @ found.train.T, expected[split.train], atol=1e-12)
    np.testing.assert_allclose(found.held_out @ found.train.T, expected[split.held_out], atol=1e-12)


def test_moments_are_those_of_the_kernel() -> None:
    columns, split = problem(7)
    factor, kernel = weighted(columns, split, np.full(7, 1 / 7))
    centered, labels = center_on(kernel, split.train), split.labels
    expected = KernelMoments.of(centered[split.train], centered[split.test], labels[split.train])
    found = factor.kernel().moments(labels[split.train], slice(len(VALIDATION), None))
    for name in ("mean_square", "largest_row_mean_square", "largest_diagonal", "fitted", "predicted"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
