from collections.abc import Callable
from itertools import combinations

import clarabel
import numpy as np
import osqp
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse

import kernel_pipeline.tasks.weights.qp
from kernel_pipeline.tasks.weights.qp import TOLERANCE, kkt_residual, nonnegative_qp
from tests.tasks import dense
from tests.tasks.dense import Floats

Program = tuple[Floats, Floats]


def well_conditioned(seed: int, p: int | None = None) -> Program:
    """A random M, and an a of either sign, as long as some of it pays."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 13)) if p is None else p
    root = rng.normal(size=(2 * p + 5, p))
    a = rng.normal(size=p)
    a[int(rng.integers(p))] = 1.0
    return root.T @ root, a * 10.0 ** rng.uniform(-3, 3)


def gaussian_family(seed: int, p: int | None = None, scaled: bool = True) -> Program:
    """The real thing: Gaussians whose bandwidths double, M nearly singular; as they are, or of trace one."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(7, 21)) if p is None else p
    m, d = int(rng.integers(12, 50)), int(rng.integers(1, 6))
    features = 10.0 ** rng.uniform(-0.5, 0.5) * rng.normal(size=(m, d))
    labels = rng.normal(size=m)
    if seed % 3 == 0:
        labels = np.sign(labels)
    if seed % 3 == 1:
        labels = np.sin(features.sum(axis=1)) + 0.1 * labels
    lo = int(rng.integers(-12, -5))
    statistics = dense.dense_statistics(dense.gaussians(features, (lo, lo + p - 1)), labels, np.arange(m))
    if scaled:
        statistics = statistics.trace_one()
    return statistics.M, statistics.a


def with_duplicates(seed: int) -> Program:
    M, a = gaussian_family(seed) if seed % 2 else well_conditioned(seed)
    rng = np.random.default_rng(seed)
    order = np.concatenate([np.arange(len(a)), rng.integers(0, len(a), size=3)])
    return M[np.ix_(order, order)], a[order]


def with_a_dead_kernel(seed: int) -> Program:
    M, a = gaussian_family(seed) if seed % 2 else well_conditioned(seed)
    dead = int(np.random.default_rng(seed).integers(len(a)))
    for array in (M, M.T, a):
        array[dead] = 0.0
    if not (a > 0).any():
        a[:] = -np.minimum(a, 0.0)
    return M, a


PROGRAMS = {
    "well conditioned": well_conditioned,
    "gaussian family": gaussian_family,
    "duplicates": with_duplicates,
    "dead kernel": with_a_dead_kernel,
}


def objective(M: Floats, a: Floats, v: Floats) -> float:
    return float(v @ M @ v - 2.0 * v @ a)


def residual_by_hand(M: Floats, a: Floats, v: Floats) -> float:
    """The KKT conditions one kernel at a time, in extended precision."""
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
    # the certificate is what it says, and not the solver's word
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
def test_the_weights_are_those_of_nnls_where_they_are_unique(seed: int) -> None:
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
def test_no_support_does_better(p: int, seed: int) -> None:
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
def test_kernels_as_they_are_and_of_trace_one_give_one_combination(seed: int) -> None:
    raw, one = gaussian_family(seed, 7, scaled=False), gaussian_family(seed, 7)
    values = []
    for M, a in (raw, one):
        v, _ = nonnegative_qp(M, a)
        values.append(objective(M, a, v))
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_one_kernel() -> None:
    v, residual = nonnegative_qp(np.array([[4.0]]), np.array([2.0]))
    np.testing.assert_allclose(v, [0.5], rtol=1e-15)
    assert residual <= 1e-15


def test_labels_that_no_kernel_is_aligned_with() -> None:
    M, _ = gaussian_family(0)
    v, residual = nonnegative_qp(M, np.zeros(len(M)))
    assert not v.any()
    assert residual == 0.0


def test_all_kernels_dead() -> None:
    v, residual = nonnegative_qp(np.zeros((3, 3)), np.zeros(3))
    assert not v.any()
    assert residual == 0.0


@pytest.mark.parametrize("a", [[-1.0, -2.0], [-1.0, 0.0]])
def test_nothing_pays_where_a_is_nowhere_positive(a: list[float]) -> None:
    # Statistics of positive semi-definite kernels cannot have this, but the program can.
    v, residual = nonnegative_qp(np.eye(2), np.array(a))
    assert not v.any()
    assert residual == 0.0


# M of two kernels that are one in double precision, off the diagonal by some units in the last place either way: seen
# as the two widest of 5 Gaussians. All weight on the second has residual 0.
@pytest.mark.parametrize("units", [-32, -3, -1, 0, 1, 2, 3, 32])
@pytest.mark.parametrize("less", [2.5e-9, 3e-9])
def test_two_kernels_that_differ_in_a_only(units: int, less: float) -> None:
    M = np.ones((2, 2))
    M[0, 1] = M[1, 0] = 1.0 + units * 2.0**-52
    v, residual = nonnegative_qp(M, np.array([1.0 - less, 1.0]))
    assert residual <= TOLERANCE
    assert (v >= 0).all()


def nothing(_: Floats, a: Floats) -> Floats:
    return np.zeros(len(a))


def everything(_: Floats, a: Floats) -> Floats:
    return np.ones(len(a))


def noise(_: Floats, a: Floats) -> Floats:
    return np.maximum(np.random.default_rng(len(a)).normal(size=len(a)), 0.0)


@pytest.mark.parametrize("proposal", [nothing, everything, noise])
@pytest.mark.parametrize("kind", ["well conditioned", "gaussian family", "dead kernel"])
def test_the_finish_mends_whatever_the_solver_proposes(
    kind: str, proposal: Callable[[Floats, Floats], Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(10):
        M, a = PROGRAMS[kind](seed)
        expected = objective(M, a, nonnegative_qp(M, a)[0])
        with monkeypatch.context() as patch:
            patch.setattr(kernel_pipeline.tasks.weights.qp, "_osqp", proposal)
            v, residual = nonnegative_qp(M, a)
        assert residual <= TOLERANCE
        assert (v >= 0).all()
        assert objective(M, a, v) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    M, a = well_conditioned(0, 4)
    broken_M, broken_a = M.copy(), a.copy()
    broken_M[1, 2] = broken_M[2, 1] = broken_a[3] = bad
    for program in ((broken_M, a), (M, broken_a)):
        with pytest.raises(ValueError, match="finite"):
            nonnegative_qp(*program)


def test_the_same_program_gives_the_same_bytes() -> None:
    M, a = gaussian_family(5, 20)
    first, second = nonnegative_qp(M, a), nonnegative_qp(M.copy(), a.copy())
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1] == second[1]


def test_kkt_residual_by_hand() -> None:
    M, a = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([4.0, 1.0])
    assert kkt_residual(M, a, np.array([2.0, 0.0])) == 0.0  # gradient (0, 1): nothing to gain from the second
    assert kkt_residual(M, a, np.zeros(2)) == 1.0  # gradient (-4, -1): the first would pay
    assert kkt_residual(M, a, np.array([1.0, 0.0])) == 0.5  # gradient (-2, 0)
    assert kkt_residual(M, a, np.array([2.0, 1.0])) == 1.0  # gradient (1, 4), both with weight
    assert kkt_residual(M, a, np.array([2.2, -0.4])) == pytest.approx(0.1)  # M^-1 a: no gradient, but below 0
    assert kkt_residual(M, np.zeros(2), np.zeros(2)) == 0.0
    assert kkt_residual(M, np.zeros(2), np.array([0.0, 1e-9])) == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_kkt_residual_notices_wrong_weights(seed: int) -> None:
    M, a = well_conditioned(seed, 6)
    v, _ = nonnegative_qp(M, a)
    used = np.flatnonzero(v > 0)
    for k in used:
        for factor in (0.0, 1.0 - 1e-6, 1.0 + 1e-6, -1.0):
            wrong = v.copy()
            wrong[k] *= factor
            assert kkt_residual(M, a, wrong) > TOLERANCE
    for k in np.setdiff1d(np.arange(6), used):
        wrong = v.copy()
        wrong[k] = 1e-6 * v.max()
        assert kkt_residual(M, a, wrong) > TOLERANCE
        wrong[k] = -1e-6 * np.abs(a).max()
        assert kkt_residual(M, a, wrong) >= 1e-6 * (1 - 1e-9)


def test_kkt_residual_of_weights_that_are_not_numbers_is_no_certificate() -> None:
    M, a = well_conditioned(0, 3)
    assert not kkt_residual(M, a, np.array([np.nan, 0.0, 0.0])) <= TOLERANCE


def test_an_m_that_osqp_refuses_is_solved_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise osqp.OSQPException(4)  # as of a matrix that rounding has made indefinite

    M, a = well_conditioned(3)
    expected, _ = nonnegative_qp(M, a)
    monkeypatch.setattr(osqp.OSQP, "setup", refuse)
    v, residual = nonnegative_qp(M, a)
    assert residual <= TOLERANCE
    np.testing.assert_allclose(v, expected, atol=1e-9 * np.abs(expected).max())
