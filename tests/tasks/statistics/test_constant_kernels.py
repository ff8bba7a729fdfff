"""Kernels that are constant on a set, or nearly so."""

import numpy as np
import pytest

from kernel_pipeline.tasks.kernels.exponentials import SHIFT
from kernel_pipeline.tasks.statistics.statistics import alignment, find_degenerate, statistics
from tests.tasks import dense
from tests.tasks.dense import Floats
from tests.tasks.statistics.gaussian_problems import Problem, gaussian_family, make_problem, sums_of


@pytest.mark.parametrize("tile", [1, 3, 11, 100])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_kernel_that_is_constant_on_the_training_set_has_no_statistics(d: int, tile: int) -> None:
    problem = make_problem(19, 40, d, (-12, 3), tile)
    features = problem.features.copy()
    features[8:32] = 0.75  # folds 1 to 3; its squares are exact, however they are summed
    sums, _ = sums_of(Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile))
    actual = statistics(sums, problem.targets, [0], [1, 2, 3], problem.bounds)
    for dead in (actual, actual.scaled(actual.trace)):
        assert not dead.M.any()
        assert not dead.a.any()
        assert not dead.trace.any()
    assert actual.label_norm > 0
    assert np.isnan(actual.own_alignments()).all()
    assert np.isnan(alignment(actual, np.full(problem.kernels, 1.0 / problem.kernels)))


@pytest.mark.parametrize("value", [0.3, 1.0, 0.0])
def test_one_constant_kernel_among_others_that_vary(value: float) -> None:
    problem = make_problem(23, 40, 3, (-2, 2), 9, targets=2)

    def with_a_constant(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
        gaussian_family(log2_gamma, rows, columns, out)
        out[1] = value - SHIFT

    sums, _ = sums_of(problem, with_a_constant)
    others = [0, 2, 3, 4]
    reference = dense.gaussians(problem.features, problem.log2_gamma)[others]
    for folds in problem.sets():
        actual = statistics(sums, problem.targets, [1], folds, problem.bounds)
        expected = dense.dense_statistics(reference, problem.targets[:, 1], problem.inside(folds))
        for dead in (actual, actual.scaled(actual.trace)):
            assert dead.trace[1] == dead.a[1] == 0.0
            assert not dead.M[1].any()
            assert not dead.M[:, 1].any()
        np.testing.assert_allclose(actual.M[np.ix_(others, others)], expected.M, rtol=1e-9)
        np.testing.assert_allclose(actual.a[others], expected.a, rtol=1e-9, atol=1e-12)
        assert np.isnan(actual.own_alignments()[1])
        assert np.isnan(alignment(actual, np.eye(5)[1]))


def test_identical_training_rows_far_from_the_origin_have_no_statistics() -> None:
    rng = np.random.default_rng(0)
    for d in range(2, 12):
        for tile in (7, 16):
            problem = make_problem(19, 40, d, (-3, 3), tile)
            features = problem.features.copy()
            features[8:32] = 10.0 * rng.normal(size=d)
            sums, _ = sums_of(Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile))
            actual = statistics(sums, problem.targets, [0], [1, 2, 3], problem.bounds)
            assert not actual.trace.any(), (d, tile)


# At 2^-600 the square of E underflows and E does not, at 2^-1060 1/E overflows, at 2^-1100 gamma itself is 0: M, a and
# the trace must all be 0, or the quotients of trace-one kernels are 0/0.
@pytest.mark.parametrize("exponent", [-600, -1000, -1060, -1100])
def test_a_gamma_so_small_that_squares_underflow(exponent: int) -> None:
    problem = make_problem(29, 20, 3, (exponent, exponent), 7)
    sums, _ = sums_of(problem)
    actual = statistics(sums, problem.targets, [0], [0, 1, 2], problem.bounds)
    for dead in (actual, actual.scaled(actual.trace)):
        assert dead.trace[0] == dead.a[0] == dead.M[0, 0] == 0.0


@pytest.mark.parametrize("exponent", [-300, -60, -36, -30, -20])
def test_a_kernel_of_tiny_gamma_is_not_constant(exponent: int) -> None:
    # exp(-gamma d^2) - 1 tends to -gamma d^2, whose centered form is 2 gamma <x, z>: of trace one, the linear kernel.
    problem = make_problem(59, 40, 3, (exponent, exponent), 9)
    sums, _ = sums_of(problem)
    x = problem.features.astype(np.longdouble)
    linear = (x @ x.T)[None]
    for folds in problem.sets():
        actual = statistics(sums, problem.targets, [0], folds, problem.bounds)
        expected = dense.dense_statistics(linear, problem.targets[:, 0], problem.inside(folds)).trace_one()
        scaled = actual.scaled(actual.trace)
        # what is left is the next term of the series, of relative size gamma d^2
        np.testing.assert_allclose(scaled.M, expected.M, rtol=1e-9 + 100 * 2.0**exponent)
        np.testing.assert_allclose(scaled.a, expected.a, rtol=1e-9 + 100 * 2.0**exponent)


def test_each_kind_of_degenerate_kernel_is_told_apart() -> None:
    n = 50
    trace = np.array([0.0, 1e-20, 1.0, 1.0])  # constant, constant up to rounding, the identity, and any other
    found = find_degenerate(trace, np.array([0.0, 0.3, 1.0 / (n - 1), 0.3]), np.ones(4), n)
    assert found.constant.tolist() == [True, False, False, False]
    assert found.flat.tolist() == [False, True, False, False]
    assert found.identity.tolist() == [False, False, True, False]


def test_two_samples_are_not_enough_to_recognise_the_identity() -> None:
    """After centering, every kernel of two samples is a multiple of the identity."""
    masks = [find_degenerate(np.ones(1), np.array([1.0 / (n - 1)]), np.ones(1), n).identity for n in (2, 3)]
    assert [bool(mask[0]) for mask in masks] == [False, True]
