import numpy as np
import pytest

from kernel_pipeline.tasks.learners import preconditioner
from kernel_pipeline.tasks.learners.kernel_operator import InMemoryKernel
from kernel_pipeline.tasks.learners.preconditioner import approximate_kernel, rpcholesky
from tests.tasks.learners.ridge_problems import WIDTHS, gaussian_kernel


@pytest.mark.parametrize("widths", WIDTHS)
def test_the_remainder_is_positive_semidefinite_and_close_to_that_of_the_best_rank(widths: str) -> None:
    kernel, _, _ = gaussian_kernel(400, widths)
    values = np.linalg.eigvalsh(kernel)
    for rank in (10, 150):
        factor = rpcholesky(InMemoryKernel(kernel.copy()), rank, 0.0)
        assert factor.shape[1] <= rank
        rest = kernel - factor @ factor.T
        assert np.linalg.eigvalsh(rest).min() > -1e-13
        # Theorem of [1]: the expected trace is near that of the best approximation of a somewhat smaller rank.
        assert np.trace(rest) <= 2.0 * values[: -rank // 2].sum() + 1e-12


def test_pivots_are_drawn_in_proportion_to_the_diagonal(monkeypatch: pytest.MonkeyPatch) -> None:
    # The columns of a diagonal kernel do not affect each other, so the first pivot shows the distribution.
    kernel = np.diag([0.1, 0.2, 0.3, 0.4])
    counts = np.zeros(4)
    for seed in range(600):
        monkeypatch.setattr(preconditioner, "SEED", seed)
        counts[np.flatnonzero(rpcholesky(InMemoryKernel(kernel.copy()), 1, 0.0)[:, 0])] += 1
    np.testing.assert_allclose(counts / 600, [0.1, 0.2, 0.3, 0.4], atol=0.06)


def test_a_kernel_of_low_rank_is_reproduced_and_the_rank_is_found() -> None:
    root = np.random.default_rng(0).normal(size=(300, 5))
    kernel = root @ root.T
    found = approximate_kernel(InMemoryKernel(kernel.copy()), 60, 1e-10)
    assert found.vectors.shape == (300, 5)
    np.testing.assert_allclose((found.vectors * found.values) @ found.vectors.T, kernel, atol=1e-9)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-10)
    assert found.tail < 1e-10


@pytest.mark.parametrize("kernel", [np.zeros((30, 30)), np.ones((30, 30)), np.eye(30)])
def test_degenerate_kernels(kernel: np.ndarray) -> None:
    found = approximate_kernel(InMemoryKernel(kernel.copy()), 30, 1e-12)
    np.testing.assert_allclose((found.vectors * found.values) @ found.vectors.T, kernel, atol=1e-12)
    np.testing.assert_allclose(found.precondition(np.ones((30, 1)), np.array([0.5]))[0, 0], 1 / (kernel[0].sum() + 0.5))


def test_the_tail_is_a_typical_eigenvalue_of_the_remainder() -> None:
    kernel, _, _ = gaussian_kernel(500, "narrow")
    found = approximate_kernel(InMemoryKernel(kernel.copy()), 50, 0.0)
    rest = kernel - (found.vectors * found.values) @ found.vectors.T
    np.testing.assert_allclose(found.tail, (rest**2).sum() / np.trace(rest), rtol=0.3)


def test_the_preconditioner_is_the_inverse_of_the_approximation_with_its_tail() -> None:
    kernel, target, _ = gaussian_kernel(200, "mixed")
    found = approximate_kernel(InMemoryKernel(kernel.copy()), 40, 0.0)
    projector = np.eye(200) - found.vectors @ found.vectors.T
    for ridge in (1.0, 2.0**-20):
        dense = (found.vectors * found.values) @ found.vectors.T + found.tail * projector + ridge * np.eye(200)
        actual = found.precondition(target, np.array([ridge, ridge]))
        np.testing.assert_allclose(dense @ actual, target, rtol=1e-6, atol=1e-8)


def test_the_same_columns_are_chosen_every_time() -> None:
    kernel, _, _ = gaussian_kernel(200, "mixed")
    first, second = (rpcholesky(InMemoryKernel(kernel.copy()), 30, 0.0) for _ in range(2))
    np.testing.assert_array_equal(first, second)
