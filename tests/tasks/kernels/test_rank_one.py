"""Rank-one kernels, compared with the dense matrices that they represent."""

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import nnls

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.rank_one import FEW_ENTRIES, RankOneKernels
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.column_generation import block_pivoting, solve_by_columns
from kernel_pipeline.tasks.weights.qp import kkt_residual, nonnegative_qp
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics


def counts(seed: int, n: int, p: int, density: float = 0.15) -> Floats:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.poisson(1.5, size=(n, p)) * (rng.random((n, p)) < density), dtype=np.float64)


def dense(x: Floats) -> tuple[list[Floats], Floats]:
    """Return the centered kernels of trace one, and their traces before scaling; zeros for a constant column."""
    centered = x - x.mean(axis=0)
    traces = (centered**2).sum(axis=0)
    kernels = [
        np.outer(v, v) / t if t > 1e-12 else np.zeros((len(x), len(x))) for v, t in zip(centered.T, traces, strict=True)
    ]
    return kernels, np.where(traces > 1e-12, traces, 0.0)


@pytest.mark.parametrize("density", [0.03, 0.3, 1.0])
def test_every_product_equals_that_of_the_dense_kernels(density: float) -> None:
    x = counts(0, 60, 25, density)
    x[:, 4] = 2.0  # constant
    x[:, 7] = 0.0  # empty
    kernels = RankOneKernels.of(scipy.sparse.csr_array(x))
    grams, traces = dense(x)
    np.testing.assert_allclose(kernels.trace, traces, rtol=1e-12)
    assert kernels.trace[4] == kernels.trace[7] == 0.0
    y = np.random.default_rng(1).normal(size=60)
    yc = y - y.mean()
    np.testing.assert_allclose(kernels.images(yc).forms, [yc @ k @ yc for k in grams], atol=1e-12)
    M = np.array([[np.sum(k * other) for other in grams] for k in grams])
    chosen = np.array([0, 3, 4, 7, 11, 24])
    np.testing.assert_allclose(kernels.products(), M, atol=1e-12)
    np.testing.assert_allclose(kernels.only(chosen).products(), M[np.ix_(chosen, chosen)], atol=1e-12)
    weights = np.zeros(25)
    weights[chosen] = [0.5, 0.1, 0.0, 2.0, 0.3, 1.0]
    combined = kernels.combined(weights)
    np.testing.assert_allclose(combined, np.tensordot(weights, grams, 1), atol=1e-12)
    np.testing.assert_allclose(kernels.quadratic_forms(combined), M @ weights, atol=1e-12)


def test_quadratic_forms_do_not_depend_on_the_length_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    x = counts(2, 3 * FEW_ENTRIES, 40, 0.4)
    kernels = RankOneKernels.of(scipy.sparse.csr_array(x))
    combined = kernels.combined(np.where(np.arange(40) < 5, 1.0, 0.0))
    monkeypatch.setattr(
        "kernel_pipeline.tasks.kernels.rank_one.PRODUCT_BYTES", 8 * len(x) * 3
    )  # several rounds of three columns
    mixed = kernels.quadratic_forms(combined)
    for few in (0, 10**9):
        monkeypatch.setattr("kernel_pipeline.tasks.kernels.rank_one.FEW_ENTRIES", few)
        np.testing.assert_allclose(kernels.quadratic_forms(combined), mixed, atol=1e-12)


def test_columns_that_are_equal_up_to_scale_are_found() -> None:
    x = np.array([[1.0, 2.0, 0.0, 3.0, 1.0], [0.0, 0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 5.0, 0.0, 0.0]])
    kernels = RankOneKernels.of(scipy.sparse.csr_array(x))
    distinct = kernels.distinct()
    assert distinct.chosen.tolist() == [0, 2, 4]
    assert distinct.group.tolist() == [0, 0, 1, 0, 2]
    assert distinct.shared(np.array([3.0, 1.0, 2.0])).tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]


@pytest.mark.parametrize("seed", range(30))
def test_alignf_of_columns_equals_that_of_the_dense_quadratic_program(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.tasks.weights.column_generation.FIRST_SET", 5)  # several rounds
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 40)), int(rng.integers(1, 90))
    x = counts(seed, n, p, float(rng.choice([0.1, 0.3])))
    x[:, rng.integers(p)] = 3.0  # constant
    x[:, rng.integers(p)] = x[:, rng.integers(p)] * 2  # one column twice
    y = rng.normal(size=(n, int(rng.integers(1, 4))))
    yc = y - y.mean(axis=0)
    statistics = RankOneStatistics(RankOneKernels.of(scipy.sparse.csr_array(x)), yc)
    v, residual = statistics.nonnegative_solution()
    grams, traces = dense(x)
    M = np.array([[np.sum(k * other) for other in grams] for k in grams])
    a = np.array([np.sum(k * (yc @ yc.T)) for k in grams])
    assert residual <= 1e-9
    assert kkt_residual(M, a, v) <= 1e-9
    assert (v[traces == 0] == 0).all()
    reference, _ = nonnegative_qp(M, a)
    assert v @ M @ v - 2 * v @ a == pytest.approx(reference @ M @ reference - 2 * reference @ a, rel=1e-8)
    varies = traces > 0
    assert (statistics.varies == varies).all()
    expected = np.where(varies, a / np.maximum(np.sqrt(np.diag(M)) * np.linalg.norm(yc @ yc.T), 1e-300), np.nan)
    np.testing.assert_allclose(statistics.own_alignments(), expected, atol=1e-12)


def test_equal_columns_share_their_weight_equally() -> None:
    x = counts(5, 40, 6, 0.5)
    x[:, 3] = 7 * x[:, 1]
    y = x[:, 1] + 0.1 * np.random.default_rng(0).normal(size=40)
    mu, _ = Alignf().weights(RankOneStatistics(RankOneKernels.of(scipy.sparse.csr_array(x)), (y - y.mean())[:, None]))
    assert mu[1] == mu[3] > 0


def test_labels_that_are_uncorrelated_with_all_columns_give_no_weight() -> None:
    x = np.zeros((10, 3))
    x[:4, 0] = x[:4, 1] = 1.0
    y = np.concatenate([np.zeros(4), [1, -1, 1, -1, 1, -1]])
    v, residual = RankOneStatistics(RankOneKernels.of(scipy.sparse.csr_array(x)), y[:, None]).nonnegative_solution()
    assert not v.any()
    assert residual == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_block_pivoting_equals_nnls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 40))
    root = rng.normal(size=(p + 5, p))
    target = rng.normal(size=p + 5)
    begin = rng.random(p) < rng.choice([0.0, 0.5, 1.0])
    actual = block_pivoting(root.T @ root, root.T @ target, begin)
    np.testing.assert_allclose(actual, nnls(root, target)[0], atol=1e-9)


def test_column_generation_prices_every_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.tasks.weights.column_generation.FIRST_SET", 2)
    root = np.random.default_rng(3).random((50, 30))
    M, a = root.T @ root, root.T @ np.random.default_rng(4).random(50)
    priced: list[int] = []

    def pricing(weights: Floats) -> Floats:
        priced.append(int(np.count_nonzero(weights)))
        return np.asarray(M @ weights)

    v, residual = solve_by_columns(a, lambda chosen: M[np.ix_(chosen, chosen)], pricing)
    assert len(priced) > 1
    assert residual <= 1e-12
    assert kkt_residual(M, a, v) <= 1e-12
