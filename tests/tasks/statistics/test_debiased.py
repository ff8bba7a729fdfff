"""Debiased alignments from sums, from columns and from matrices, against the dense U-statistic."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.statistics.debiased import debiased_statistics
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment, centered_diagonals, statistics
from kernel_pipeline.tasks.weights.rank_one_statistics import rank_one_statistics
from tests.helpers.plain import debiased_aligned, u_statistic
from tests.tasks import dense
from tests.tasks.dense import Floats
from tests.tasks.statistics.gaussian_problems import Problem, make_problem, sums_of


def from_sums(problem: Problem, columns: list[int], folds: list[int]) -> Statistics:
    sums, _ = sums_of(problem)
    biased = statistics(sums, problem.targets, columns, folds, problem.bounds)
    diagonals = centered_diagonals(sums, folds, problem.bounds)
    return debiased_statistics(biased, diagonals, problem.targets[problem.inside(folds)][:, columns])


def test_the_reference_is_the_mean_over_distinct_samples() -> None:
    rng = np.random.default_rng(0)
    K, L = (root @ root.T for root in rng.normal(size=(2, 6, 4)))
    terms = [K[i, j] * (L[i, j] + L[q, r] - 2 * L[i, q]) for i, j, q, r in permutations(range(6), 4)]
    assert u_statistic(K, L) == pytest.approx(np.mean(terms), rel=1e-12)


def test_alignments_from_sums_are_those_of_the_dense_u_statistic() -> None:
    problem = make_problem(31, 60, 3, (-4, 3), 10, targets=2, offset=2.0)
    kernels = dense.gaussians(problem.features, problem.log2_gamma).astype(np.float64)
    mu = np.random.default_rng(1).random(problem.kernels)
    for folds in problem.sets():
        inside = problem.inside(folds)
        cut = kernels[:, inside[:, None], inside[None, :]]
        for columns in problem.blocks():
            target = problem.targets[inside][:, columns]
            actual = from_sums(problem, columns, folds)
            expected = [debiased_aligned(kernel, target) for kernel in cut]
            np.testing.assert_allclose(actual.own_alignments(), expected, rtol=0, atol=1e-12)
            combined = np.tensordot(mu, cut, axes=1)
            of_all = debiased_aligned(combined, target)
            assert alignment(actual, mu) == pytest.approx(of_all, abs=1e-12)
            scaled = actual.scaled(actual.trace)
            assert alignment(scaled, mu * actual.trace) == pytest.approx(of_all, abs=1e-12)
            assert alignment_with_labels(combined, target).debiased == pytest.approx(of_all, abs=1e-12)


@pytest.mark.parametrize("classes", [1, 3])
def test_alignments_of_columns_are_those_of_the_dense_u_statistic(classes: int) -> None:
    rng = np.random.default_rng(classes)
    x = rng.poisson(0.7, size=(50, 8)).astype(float)
    x[:, 3] = 0.0  # constant
    x[:, 5] = 0.0
    x[7, 5] = 2.0  # one nonzero sample, so no product of distinct samples is nonzero
    y = rng.normal(size=(50, classes)) + x[:, :1]
    train, test = np.arange(30), np.arange(30, 50)
    found = rank_one_statistics(scipy.sparse.csr_array(x), np.zeros(8), y, train, test)
    for name, part in (("alignment_debiased", train), ("alignment_test_debiased", test)):
        expected = [debiased_aligned(np.outer(column, column), y[part]) for column in x[part].T]
        undefined = [3, 5]
        expected = [np.nan if number in undefined else value for number, value in enumerate(expected)]
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-12)
    kernels = RankOneKernels.of(scipy.sparse.csr_array(x[train]), scipy.sparse.csr_array(x[test]))
    weights = np.array([0.3, 0.2, 0.1, 0, 0.1, 0.1, 0.1, 0.1])
    combined = WeightedColumns.of(kernels, weights)
    scaled = x * np.sqrt(np.divide(weights, kernels.trace, out=np.zeros(8), where=kernels.trace > 0))
    for samples, part in ((None, train), (slice(0, 20), test)):
        expected_value = debiased_aligned(scaled[part] @ scaled[part].T, y[part])
        assert combined.alignment(y[part], samples).debiased == pytest.approx(expected_value, abs=1e-12)


def test_for_independent_labels_the_mean_is_zero_unlike_that_of_the_biased_alignment() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(400):
        root = rng.normal(size=(30, 5))
        found.append(alignment_with_labels(root @ root.T, rng.normal(size=(30, 1))))
    biased, debiased, *_ = np.mean(found, axis=0)
    assert biased > 0.05  # about tr K / (n ||K||)
    assert abs(debiased) < 3 * np.std([value.debiased for value in found]) / 20


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_it_is_undefined_for_fewer_than_four_samples(samples: int) -> None:
    problem = make_problem(3, 12 // 4 * samples, 2, (-1, 1), 5, folds=3)
    assert np.isnan(from_sums(problem, [0], [0]).own_alignments()).all()
    assert np.isnan(alignment(from_sums(problem, [0], [0]), np.ones(3)))
    root, y = np.random.default_rng(0).normal(size=(2, samples, 2))
    assert np.isnan(alignment_with_labels(root @ root.T, y).debiased)


def kernels_without_pairs() -> dict[str, Floats]:
    shift = np.random.default_rng(0).normal(size=9)
    return {
        "identity": np.eye(9),
        "shifted diagonal": np.diag(np.arange(1.0, 10.0)) + shift[:, None] + shift[None, :],
        "one sample": np.outer(np.eye(9)[2], np.eye(9)[2]),
        "constant": np.full((9, 9), 0.1),
    }


@pytest.mark.parametrize("name", kernels_without_pairs())
def test_it_is_undefined_for_a_kernel_that_is_constant_over_pairs(name: str) -> None:
    kernel, y = kernels_without_pairs()[name], np.random.default_rng(1).normal(size=(9, 1))
    assert np.isnan(alignment_with_labels(kernel, y).debiased)


def test_it_is_undefined_for_labels_with_one_deviating_sample() -> None:
    # y = e_1: the products of distinct samples vanish, although the labels vary.
    problem = make_problem(9, 40, 3, (-2, 2), 11, folds=4)
    target = np.zeros((40, 1))
    target[problem.bounds[:-1]] = 1.0
    odd = Problem(problem.features, target, problem.bounds, problem.log2_gamma, 11)
    found = from_sums(odd, [0], [2])
    assert found.label_norm == 0.0
    assert np.isnan(found.own_alignments()).all()
    assert np.isfinite(from_sums(odd, [0], [1, 2]).own_alignments()).all()


def test_kernels_that_cancel_over_pairs_have_no_alignment() -> None:
    y = np.random.default_rng(2).normal(size=12)
    y = (y - y.mean()) / np.linalg.norm(y - y.mean())
    kernels = [np.eye(12) + np.outer(y, y), np.eye(12) - np.outer(y, y)]
    centered = [kernel - 1 / 12 for kernel in kernels]
    M = np.array([[np.sum(k * other) for other in centered] for k in centered])
    a = np.array([y @ k @ y for k in centered])
    biased = Statistics(M, a, np.array([np.trace(k) for k in centered]), 1.0)
    found = debiased_statistics(biased, np.array([np.diag(k) for k in centered]), y[:, None])
    np.testing.assert_allclose(found.own_alignments(), [1.0, -1.0], atol=1e-12)
    assert np.isnan(alignment(found, np.array([0.5, 0.5])))
