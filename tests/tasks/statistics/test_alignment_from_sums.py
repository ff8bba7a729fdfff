"""Centered and uncentered alignments from sums over tiles, against their definitions."""

import numpy as np
import pytest

from kernel_pipeline.tasks.kernels.exponentials import SHIFT
from kernel_pipeline.tasks.statistics.statistics import alignment, statistics, uncentered_alignments
from tests.tasks import dense
from tests.tasks.statistics.gaussian_problems import Problem, make_problem, sums_of


def test_alignments_against_the_definition() -> None:
    problem = make_problem(31, 45, 3, (-12, 3), 10, targets=2, offset=2.0)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    rng = np.random.default_rng(0)
    for folds in problem.sets():
        inside = problem.inside(folds)
        cut = reference[:, inside[:, None], inside[None, :]]
        for columns in problem.blocks():
            target = problem.targets[:, columns]
            actual = statistics(sums, problem.targets, columns, folds, problem.bounds)
            expected = [dense.centered_alignment(kernel, target[inside]) for kernel in cut]
            np.testing.assert_allclose(actual.own_alignments(), expected, rtol=1e-8)
            mu = rng.random(problem.kernels) * (rng.random(problem.kernels) < 0.5)
            mu[0] += 0.1
            combined = np.tensordot(mu.astype(np.longdouble), cut, axes=1)
            of_all = dense.centered_alignment(combined, target[inside])
            assert alignment(actual, mu) == pytest.approx(of_all, rel=1e-8)
            # weights mu_k of the kernels are weights mu_k trace_k of the trace-one kernels
            assert alignment(actual.scaled(actual.trace), mu * actual.trace) == pytest.approx(of_all, rel=1e-8)
            assert alignment(actual, 1e3 * mu) == pytest.approx(of_all, rel=1e-8)


def test_alignment_with_constant_labels_is_undefined() -> None:
    problem = make_problem(37, 20, 3, (-3, 3), 7)
    constant = Problem(problem.features, np.full((20, 1), 2.0), problem.bounds, problem.log2_gamma, 7)
    sums, _ = sums_of(constant)
    actual = statistics(sums, constant.targets, [0], [0, 1, 2], constant.bounds)
    assert actual.label_norm == 0.0
    assert np.isnan(actual.own_alignments()).all()
    assert np.isnan(alignment(actual, np.ones(7)))


def test_alignment_is_at_most_one_or_undefined_if_a_fold_has_one_class() -> None:
    # With three samples of the rare class, three of six test folds contain one class, and their labels, shifted by the
    # mean of all, are constant up to rounding.
    for m in range(30, 61):
        problem = make_problem(41, m, 3, (-4, 2), m, folds=6)
        target = np.ones(m)
        target[problem.bounds[:3]] = -1.0
        target -= target.mean()
        shifted = Problem(problem.features, target[:, None], problem.bounds, problem.log2_gamma, m)
        sums, _ = sums_of(shifted)
        for fold in range(6):
            actual = statistics(sums, target[:, None], [0], [fold], problem.bounds)
            one_class = np.ptp(target[problem.inside([fold])]) == 0
            assert (np.isnan(actual.own_alignments()) if one_class else actual.own_alignments() <= 1 + 1e-9).all()


@pytest.mark.parametrize("offset", [0.0, 0.7, -4.0])
@pytest.mark.parametrize("tile", [10, 64])
def test_uncentered_alignments_undo_both_shifts(offset: float, tile: int) -> None:
    problem = make_problem(43, 45, 3, (-12, 3), tile, targets=2)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    for folds in problem.sets():
        inside = problem.inside(folds)
        for columns in problem.blocks():
            shifts, offsets = np.full(problem.kernels, SHIFT), np.array([offset, 1.0 - offset])
            actual = uncentered_alignments(sums, problem.targets, columns, folds, problem.bounds, shifts, offsets)
            labels = problem.targets[inside][:, columns] + offsets[columns]
            expected = [dense.uncentered_alignment(K[np.ix_(inside, inside)], labels) for K in reference]
            # y'Ky may nearly cancel, and is bounded by ||K|| ||y||^2: hence an absolute part
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-13)


def test_uncentered_alignments_of_the_shifted_kernels_themselves() -> None:
    # Without shifts, the sums are those of E itself.
    problem = make_problem(47, 30, 2, (-3, 3), 11)
    sums, _ = sums_of(problem)
    shifted = dense.gaussians(problem.features, problem.log2_gamma) - 1
    inside, target = problem.inside([0, 1]), problem.targets[:, 0]
    actual = uncentered_alignments(
        sums, problem.targets, [0], [0, 1], problem.bounds, np.zeros(problem.kernels), np.zeros(1)
    )
    expected = [dense.uncentered_alignment(E[np.ix_(inside, inside)], target[inside]) for E in shifted]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_labels_that_are_all_zero_have_no_alignment() -> None:
    problem = make_problem(5, 12, 2, (-1, 1), 12)
    zero = np.zeros(12)
    sums, _ = sums_of(Problem(problem.features, zero[:, None], problem.bounds, problem.log2_gamma, 12))
    assert np.isnan(
        uncentered_alignments(
            sums, zero[:, None], [0], [0, 1], problem.bounds, np.full(problem.kernels, SHIFT), np.zeros(1)
        )
    ).all()
