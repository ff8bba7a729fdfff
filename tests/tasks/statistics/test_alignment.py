"""Alignment, compared with the definitions, the example and the predictor of the paper."""

import numpy as np
import pytest

from kernel_pipeline.tasks.statistics.alignment import (
    alignment_predictor,
    alignment_with_labels,
    centered,
)
from tests.tasks import dense
from tests.tasks.alignments import centered_alignment, uncentered_alignment, unnormalised_alignment
from tests.tasks.dense import Floats


def random_kernel(rng: np.random.Generator, n: int) -> Floats:
    root = rng.normal(size=(n, int(rng.integers(1, n + 1)))) + rng.uniform(-3, 3)
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("seed", range(34))
def test_against_the_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    K, L, y = random_kernel(rng, n), random_kernel(rng, n), rng.normal(size=n)
    U = np.eye(n) - np.ones((n, n)) / n
    Kc, Lc = U @ K @ U, U @ L @ U
    np.testing.assert_allclose(centered(K), Kc, atol=1e-12 * np.abs(K).max() * n)
    norms = np.linalg.norm(Kc) * np.linalg.norm(Lc)
    assert centered_alignment(K, L) == pytest.approx(np.trace(Kc @ Lc) / norms, rel=1e-9)
    norms = np.linalg.norm(K) * np.linalg.norm(L)
    assert uncentered_alignment(K, L) == pytest.approx(np.trace(K @ L) / norms, rel=1e-9)
    assert unnormalised_alignment(K, L) == pytest.approx(np.trace(Kc @ Lc) / n**2, rel=1e-9)
    # centering one of the two is enough (Lemma 1)
    assert unnormalised_alignment(K, L) == pytest.approx(float(np.vdot(Kc, L)) / n**2, rel=1e-8)
    expected = dense.centered_alignment(K.astype(np.longdouble), y)
    assert alignment_with_labels(K, y[:, None]).biased == pytest.approx(expected, rel=1e-9)
    assert centered_alignment(K, np.outer(y, y)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(34))
def test_bounds_and_invariances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    K, L, shift = random_kernel(rng, n), random_kernel(rng, n), rng.normal(size=n)
    rho = centered_alignment(K, L)
    assert 0.0 <= rho <= 1.0 + 1e-12
    assert 0.0 <= uncentered_alignment(K, L) <= 1.0 + 1e-12
    assert centered_alignment(K, K) == pytest.approx(1.0)
    assert centered_alignment(L, K) == pytest.approx(rho, rel=1e-12)
    assert centered_alignment(5.0 * K + shift + shift[:, None] + 3.0, 0.1 * L) == pytest.approx(rho, rel=1e-8)
    assert centered_alignment(K, -L) == pytest.approx(-rho, rel=1e-12)
    y = rng.normal(size=n)
    assert 0.0 <= alignment_with_labels(K, y[:, None]).biased <= 1.0 + 1e-12
    assert alignment_with_labels(2.0 * K, 7.0 - 3.0 * y[:, None]).biased == pytest.approx(
        alignment_with_labels(K, y[:, None]).biased, rel=1e-8
    )
    # |y| <= M bounds y y' by M^2, and R^2 the kernel (the paper's Lemma 6)
    bound = float(np.diag(centered(K)).max()) * float(np.max((y - y.mean()) ** 2))
    assert 0.0 <= unnormalised_alignment(K, np.outer(y, y)) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25, 0.5, 0.8, 0.99])
def test_the_papers_example(share: float) -> None:
    """Some points are at (-1, 0) with label -1, the others at (1, 0) with label 1, and K = x.x' + 1."""
    n = 100
    y = np.where(np.arange(n) < round(share * n), -1.0, 1.0)
    x = np.column_stack([y, np.zeros(n)])
    kernel = x @ x.T + 1.0
    expected = np.sqrt(share**2 + (1 - share) ** 2)
    assert uncentered_alignment(kernel, np.outer(y, y)) == pytest.approx(expected, rel=1e-12)
    assert centered_alignment(kernel, np.outer(y, y)) == pytest.approx(1.0, rel=1e-12)
    assert alignment_with_labels(kernel, y[:, None]).biased == pytest.approx(1.0, rel=1e-12)


def test_constant_kernels_and_labels_have_no_alignment() -> None:
    K = random_kernel(np.random.default_rng(0), 8)
    zeros = np.zeros((8, 8))
    assert centered_alignment(zeros, K) == centered_alignment(K, zeros) == uncentered_alignment(K, zeros) == 0.0
    assert centered_alignment(np.ones((8, 8)), K) == 0.0
    assert unnormalised_alignment(np.ones((8, 8)), K) == 0.0
    assert np.isnan(alignment_with_labels(K, np.full((8, 2), 0.1))).all()
    assert np.isnan(alignment_with_labels(zeros, np.arange(8.0)[:, None])).all()
    assert np.isnan(alignment_with_labels(np.full((8, 8), 0.1), np.arange(8.0)[:, None])).all()


@pytest.mark.parametrize("seed", range(34))
def test_the_predictor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    Kc, y = centered(random_kernel(rng, n)), rng.normal(size=n) * 5 + 2
    others = rng.normal(size=(4, n))
    standard = (y - y.mean()) / y.std()
    # h_S, term by term
    norm = float(np.linalg.norm(Kc))
    denominator = np.sqrt(np.mean(Kc**2)) * np.sqrt(np.mean(np.outer(standard, standard) ** 2))
    expected = [np.mean(standard * row) / denominator for row in others]
    np.testing.assert_allclose(alignment_predictor(norm, others, y), expected, rtol=1e-10)
    on_training = alignment_predictor(norm, Kc, y)
    assert np.mean(standard * on_training) == pytest.approx(alignment_with_labels(Kc, y[:, None]).biased, rel=1e-9)
    np.testing.assert_allclose(alignment_predictor(9 * norm, 9 * others, 3 * y + 1), expected, rtol=1e-9)
