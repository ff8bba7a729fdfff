"""The functions of the public API, compared with dense formulas."""

import numpy as np
import pytest
from scipy.optimize import nnls

import kernel_pipeline as kp
from kernel_pipeline.tasks.arrays import Floats
from tests.tasks import dense


def kernels(n: int = 30, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
    return x @ x.T + 5.0, np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2)) + x[:, :1] @ x[:, :1].T


def unbiased(K: Floats, L: Floats) -> float:
    """Compute the estimator of Song et al. (2012) by U-centered matrices, entry by entry."""
    n = len(K)
    centered = []
    for matrix in (K, L):
        off = matrix - np.diag(np.diag(matrix))
        sums = off.sum(axis=0)
        values = off - sums[:, None] / (n - 2) - sums[None] / (n - 2) + off.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(values, 0.0)
        centered.append(values)
    return float((centered[0] * centered[1]).sum() / (n * (n - 3)))


def test_centered_alignment_equals_its_definition() -> None:
    K, L = kernels()
    H = np.eye(30) - 1 / 30
    k, m = H @ K @ H, H @ L @ H
    expected = (k * m).sum() / (np.linalg.norm(k) * np.linalg.norm(m))
    np.testing.assert_allclose(kp.centered_alignment(K, L), expected, rtol=1e-12)


def test_the_debiased_alignment_uses_unbiased_products() -> None:
    K, L = kernels()
    expected = unbiased(K, L) / np.sqrt(unbiased(K, K) * unbiased(L, L))
    np.testing.assert_allclose(kp.centered_alignment(K, L, debiased=True), expected, rtol=1e-11)


def test_an_undefined_alignment_is_nan() -> None:
    K, _ = kernels()
    assert np.isnan(kp.centered_alignment(K, np.full((30, 30), 3.0)))
    assert np.isnan(kp.centered_alignment(K[:3, :3], K[:3, :3], debiased=True))


def test_matrices_of_inconsistent_shapes_are_refused() -> None:
    K, L = kernels()
    with pytest.raises(ValueError, match="L: must be a finite, symmetric matrix"):
        kp.centered_alignment(K, L[:5, :5])
    with pytest.raises(ValueError, match="M must be a symmetric matrix of shape"):
        kp.alignf(K, [1.0])
    with pytest.raises(ValueError, match="q: must be at least 1"):
        kp.align(K, np.ones(30), q=0.5)


@pytest.mark.parametrize("labels", ["numbers", "classes", "text", "outputs"])
def test_statistics_are_those_of_dense_kernels(labels: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    classes = rng.integers(0, 3, 40)
    y, block = {
        "numbers": (X[:, 0] + 100.0, X[:, :1]),
        "classes": (classes, np.equal.outer(classes, [0, 1, 2]).astype(float)),
        "text": (np.where(X[:, 0] > 0, "yes", "no"), np.where(X[:, :1] > 0, 1.0, -1.0)),
        "outputs": (X[:, :2] ** 2, X[:, :2] ** 2),
    }[labels]
    found = kp.alignment_statistics(X, y, [{"family": "gaussian", "log2_gamma": [-3, 0]}])
    reference = dense.dense_statistics(dense.gaussians(X, [-3, 0]), block, np.arange(40))
    np.testing.assert_allclose(found.trace, reference.trace, rtol=1e-12)
    np.testing.assert_allclose(found.M, reference.trace_one().M, rtol=1e-10)
    np.testing.assert_allclose(found.a, reference.trace_one().a, rtol=1e-10)
    assert list(found.alignment.index) == [f"gaussian(2^{exponent})" for exponent in (-3, -2, -1, 0)]


def test_alignf_is_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(20, 6)), rng.normal(size=20)
    weights, certificate = kp.alignf(A.T @ A, A.T @ b)
    v, _ = nnls(A, b)
    np.testing.assert_allclose(weights, v / v.sum(), atol=1e-12)
    assert certificate < 1e-12


def test_align_is_equation_3_and_problem_4() -> None:
    M, a = np.diag([4.0, 1.0, 0.0]), np.array([2.0, 3.0, 0.0])
    np.testing.assert_allclose(kp.align(M, a)[0], [0.25, 0.75, 0.0])
    np.testing.assert_allclose(kp.align(M, a, q=3.0)[0], np.append(np.sqrt([2, 3]) / np.sqrt([2, 3]).sum(), 0.0))


@pytest.mark.parametrize("debiased", [False, True])
def test_similarity_is_the_alignment_of_each_pair(debiased: bool) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 5)) + 10.0  # several squares of the pass
    views = {"x": x, "part": x[:, :2], "squares": x**2}
    K, _ = kernels(400)
    found = kp.kernel_similarity(views, precomputed={"given": K}, debiased=debiased)
    grams = {name: view @ view.T for name, view in views.items()} | {"given": K}
    assert list(found.index) == list(found.columns) == list(grams)
    expected = [[kp.centered_alignment(a, b, debiased) for b in grams.values()] for a in grams.values()]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    gaussian = kp.kernel_similarity(views, kernel={"family": "gaussian", "gamma": 0.1}, debiased=debiased)
    first, second = (dense.gaussians(views[name] * np.sqrt(0.1), [0, 0])[0].astype(float) for name in ("x", "part"))
    np.testing.assert_allclose(gaussian.to_numpy()[0, 1], kp.centered_alignment(first, second, debiased), rtol=1e-10)


def test_debiased_similarities_of_independent_views_are_around_zero() -> None:
    rng = np.random.default_rng(4)
    views = {f"view {number}": rng.normal(size=(60, 200)) for number in range(4)}
    off = ~np.eye(4, dtype=bool)
    assert np.abs(kp.kernel_similarity(views).to_numpy()[off]).max() < 0.1
    assert kp.kernel_similarity(views, debiased=False).to_numpy()[off].min() > 0.5


def test_inconsistent_views_are_refused() -> None:
    x = np.ones((5, 2))
    with pytest.raises(ValueError, match=r"same number of samples; got \{'a': 5, 'b': 4\}"):
        kp.kernel_similarity({"a": x, "b": x[:4]})
    with pytest.raises(ValueError, match="debiased: needs at least 4 samples; got 3"):
        kp.kernel_similarity({"a": x[:3]})
    with pytest.raises(ValueError, match="kernel: must define exactly one kernel; got gaussian"):
        kp.kernel_similarity({"a": x}, kernel={"family": "gaussian", "gamma": [1.0, 2.0]})
    assert kp.kernel_similarity({"a": x}).isna().all(axis=None)
