"""Solutions of the nonnegative quadratic program, against independent solvers."""

from itertools import combinations

import clarabel
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse

from kernel_pipeline.tasks.weights.qp import TOLERANCE, kkt_residual, nonnegative_qp
from tests.tasks.dense import Floats
from tests.tasks.weights.quadratic_programs import PROGRAMS, gaussian_family, objective, well_conditioned


def residual_by_hand(M: Floats, a: Floats, v: Floats) -> float:
    """Return the residual of the KKT conditions, one kernel at a time and in extended precision."""
    gradient = M.astype(np.longdouble) @ v.astype(np.longdouble) - a
    worst = max(abs(g) if weight > 0 else -min(g, np.longdouble(0)) for g, weight in zip(gradient, v, strict=True))
    return float(worst / np.abs(a).max())


def by_clarabel(M: Floats, a: Floats) -> Floats:
    p = len(a)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    cone = [clarabel.NonnegativeConeT(p)]
    upper = scipy.sparse.csc_matrix(np.triu(2.0 * M))
    identity = scipy.sparse.csc_matrix(-np.eye(p))
    solution = clarabel.DefaultSolver(upper, -2.0 * a, identity, np.zeros(p), cone, settings).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved")
    return np.maximum(np.array(solution.x, dtype=np.float64), 0.0)


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("seed", range(25))
def test_the_certificate_of_a_hundred_programs(kind: str, seed: int) -> None:
    M, a = PROGRAMS[kind](seed)
    before = M.copy(), a.copy()
    v, residual = nonnegative_qp(M, a)
    assert residual <= TOLERANCE
    assert (v >= 0).all()
    assert v.any()
    assert not v[np.diag(M) == 0].any()
    # the certificate is computed from the weights, not reported by the solver
    assert residual == kkt_residual(M, a, v)
    assert residual_by_hand(M, a, v) <= TOLERANCE + 1e-12
    np.testing.assert_array_equal(M, before[0])
    np.testing.assert_array_equal(a, before[1])


@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("seed", range(12))
def test_the_objective_is_that_of_an_interior_point_method(kind: str, seed: int) -> None:
    M, a = PROGRAMS[kind](seed)
    # in units of kernels with norm one and an a of size one, since its tolerances are absolute
    norms = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    size = np.abs(a / norms).max()
    expected = objective(M, a, by_clarabel(M / np.outer(norms, norms), a / norms / size) * size / norms)
    actual = objective(M, a, nonnegative_qp(M, a)[0])
    assert actual <= expected + 1e-9 * abs(expected)
    assert actual >= expected - 1e-6 * abs(expected)


@pytest.mark.parametrize("seed", range(30))
def test_the_weights_equal_those_of_nnls_if_they_are_unique(seed: int) -> None:
    M, a = well_conditioned(seed)
    assert np.linalg.cond(M) < 1e4
    # v'Mv - 2v'a = ||Rv - b||^2 up to a constant, with M = R'R and R'b = a
    R = scipy.linalg.cholesky(M)
    expected, _ = scipy.optimize.nnls(R, scipy.linalg.solve_triangular(R, a, trans="T"))
    actual, _ = nonnegative_qp(M, a)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * expected.max())
    np.testing.assert_array_equal(actual > 0, expected > 0)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_no_other_support_is_better(p: int, seed: int) -> None:
    M, a = gaussian_family(seed, p) if seed % 3 == 0 else well_conditioned(seed, p)
    actual, residual = nonnegative_qp(M, a)
    assert residual <= TOLERANCE
    best = 0.0
    for size in range(1, p + 1):
        for support in combinations(range(p), size):
            chosen = np.array(support)
            part = np.linalg.lstsq(M[np.ix_(chosen, chosen)], a[chosen], rcond=None)[0]
            if (part >= 0).all():
                v = np.zeros(p)
                v[chosen] = part
                best = min(best, objective(M, a, v))
    assert objective(M, a, actual) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("factor", [1e-12, 1e-3, 1e6, 1e12])
@pytest.mark.parametrize("seed", range(4))
def test_units_do_not_matter(seed: int, factor: float) -> None:
    # A kernel in other units, K' = f K, has M' = f^2 M and a' = f a: the combination stays the same, so v' = v / f.
    M, a = well_conditioned(seed, 6)
    expected, _ = nonnegative_qp(M, a)
    all_kernels, residual = nonnegative_qp(M * factor**2, a * factor)
    np.testing.assert_allclose(all_kernels * factor, expected, rtol=1e-9)
    assert residual <= TOLERANCE
    units = np.ones(6)
    units[::2] = factor
    some_kernels, _ = nonnegative_qp(M * np.outer(units, units), a * units)
    np.testing.assert_allclose(some_kernels * units, expected, rtol=1e-9, atol=1e-12 * expected.max())


@pytest.mark.parametrize("seed", range(10))
def test_unscaled_and_trace_one_kernels_give_the_same_combination(seed: int) -> None:
    raw, one = gaussian_family(seed, 7, scaled=False), gaussian_family(seed, 7)
    values = []
    for M, a in (raw, one):
        v, _ = nonnegative_qp(M, a)
        values.append(objective(M, a, v))
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_the_same_program_gives_the_same_bytes() -> None:
    M, a = gaussian_family(5, 20)
    first, second = nonnegative_qp(M, a), nonnegative_qp(M.copy(), a.copy())
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1] == second[1]
