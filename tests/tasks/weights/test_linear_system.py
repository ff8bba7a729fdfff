"""The solution of minimum norm, against numpy's pseudo-inverse and least squares."""

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.weights.alignf_linear import AlignfLinear
from kernel_pipeline.tasks.weights.linear_system import minimum_norm_solution
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics
from tests.tasks.dense import Floats
from tests.tasks.problems import KINDS, make_problem


def program(seed: int) -> tuple[Floats, Floats]:
    """Return M of a rank from 1 to p, and an a in its range."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 13))
    rank = int(rng.integers(1, p + 1))
    root = rng.normal(size=(p, rank)) * 10.0 ** rng.uniform(-2, 2)
    return root @ root.T, root @ rng.normal(size=rank)


@pytest.mark.parametrize("seed", range(50))
def test_against_the_pseudo_inverse(seed: int) -> None:
    M, a = program(seed)
    before = M.copy(), a.copy()
    v, residual = minimum_norm_solution(M, a)
    np.testing.assert_array_equal(M, before[0])
    np.testing.assert_array_equal(a, before[1])
    expected = np.linalg.pinv(M, rcond=1e-11, hermitian=True) @ a
    np.testing.assert_allclose(v, expected, atol=1e-5 * np.abs(expected).max())
    least, *_ = np.linalg.lstsq(M, a, rcond=1e-11)
    assert np.linalg.norm(v) <= np.linalg.norm(least) * (1 + 1e-5)
    assert residual <= 1e-10
    assert residual == pytest.approx(np.abs(M @ v - a).max() / np.abs(a).max(), abs=1e-15)


@pytest.mark.parametrize("seed", range(20))
def test_duplicates_share_equally_and_constant_kernels_get_no_weight(seed: int) -> None:
    M, a = program(seed)
    p = len(a)
    order = np.append(np.arange(p), 0)
    v, residual = minimum_norm_solution(M[np.ix_(order, order)], a[order])
    assert residual <= 1e-10
    assert v[0] == pytest.approx(v[p], rel=1e-6, abs=1e-9 * np.abs(v).max())
    wider = np.zeros((p + 2, p + 2))
    wider[1:-1, 1:-1] = M
    v, residual = minimum_norm_solution(wider, np.concatenate([[0.0], a, [0.0]]))
    assert v[0] == v[-1] == 0.0
    np.testing.assert_array_equal(v[1:-1], minimum_norm_solution(M, a)[0])


def test_a_outside_of_the_range_of_m_has_a_residual() -> None:
    v, residual = minimum_norm_solution(np.ones((2, 2)), np.array([3.0, 1.0]))
    np.testing.assert_allclose(v, [1.0, 1.0])
    assert residual == pytest.approx(1 / 3)


def test_systems_of_zeros_and_values_that_are_not_finite() -> None:
    v, residual = minimum_norm_solution(np.eye(3), np.zeros(3))
    assert not v.any()
    assert residual == 0.0
    v, residual = minimum_norm_solution(np.zeros((2, 2)), np.array([1.0, 0.0]))
    assert not v.any()
    assert residual == 1.0
    with pytest.raises(ValueError, match="M and a must be finite"):
        minimum_norm_solution(np.array([[np.nan]]), np.ones(1))


@pytest.mark.parametrize("seed", range(34))
def test_rank_one_kernels_without_a_matrix_of_repeated_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(6, 40)), int(rng.integers(2, 13))
    x = rng.poisson(1.5, size=(n, p)) * (rng.random((n, p)) < 0.5) * 1.0
    x[0] += np.ptp(x, axis=0) == 0
    twin, dead = (0, p - 1) if p > 2 else (0, 0)
    if p > 2:
        x[:, twin + 1] = 3 * x[:, twin]
        x[:, dead] = 2.0
    y = rng.normal(size=n)
    yc = y - y.mean()
    v, residual = RankOneStatistics(RankOneKernels.of(scipy.sparse.csr_array(x)), yc[:, None]).unconstrained_solution()
    centered = x - x.mean(axis=0)
    norms = np.linalg.norm(centered, axis=0)
    unit = np.divide(centered, norms, out=np.zeros_like(centered), where=norms > 1e-9)
    M, a = (unit.T @ unit) ** 2, (unit.T @ yc) ** 2
    assert np.abs(M @ v - a).max() <= 1e-8 * a.max()
    assert residual <= 1e-8
    if p > 2:
        assert v[twin] == v[twin + 1]
        assert v[dead] == 0.0
    singular = np.linalg.eigvalsh(M)
    if ((singular < 1e-12) | (singular > 1e-6)).all():
        np.testing.assert_allclose(v, np.linalg.pinv(M, rcond=1e-9, hermitian=True) @ a, atol=1e-6 * np.abs(v).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_no_weights_of_any_sign_are_better_aligned(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind)
    yc = problem.y - problem.y.mean()
    M, a = problem.kernels.products(), problem.kernels.images(yc).forms
    v, residual = minimum_norm_solution(M, a)

    def alignment(mu: Floats) -> float:
        return float(mu @ a) / float(np.linalg.norm(np.tensordot(mu, problem.grams, 1)) * (yc @ yc))

    if residual <= 1e-6:
        rng = np.random.default_rng(seed)
        rivals = [*np.eye(len(a)), *(v + rng.normal(size=len(a)) * np.abs(v).max() * 0.1 for _ in range(20))]
        assert all(alignment(v) >= abs(alignment(rival)) - 1e-6 for rival in rivals)


def test_weights_of_any_sign_have_absolute_values_that_sum_to_one() -> None:
    class KernelStatistics:
        varies = np.ones(2, dtype=bool)

        def own_alignments(self) -> Floats:
            return np.ones(2)

        def label_products(self) -> Floats:
            return np.ones(2)

        def nonnegative_solution(self) -> tuple[Floats, float]:
            return np.ones(2), 0.0

        def ridge_solution(self, ridge: float) -> tuple[Floats, float]:
            return np.ones(2), 0.0

        def bounded_solution(self, upper: float) -> tuple[Floats, float]:
            return np.ones(2), 0.0

        def unconstrained_solution(self) -> tuple[Floats, float]:
            return self.found, 1e-8

        found = np.array([3.0, -1.0])

    mu, residual = AlignfLinear().weights(KernelStatistics())
    np.testing.assert_array_equal(mu, [0.75, -0.25])
    assert residual == 1e-8
    nothing = KernelStatistics()
    nothing.found = np.zeros(2)
    with pytest.raises(NoWeightsError):
        AlignfLinear().weights(nothing)
