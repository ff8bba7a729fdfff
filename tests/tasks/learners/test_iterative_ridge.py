import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from kernel_pipeline.tasks.errors import NotPositiveDefiniteError, NotSolvedError
from kernel_pipeline.tasks.learners import iterative_ridge, ridge_cost
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL, relative_residuals, solve_ridge_path
from kernel_pipeline.tasks.learners.kernel_operator import InMemoryKernel
from kernel_pipeline.tasks.learners.ridge import fit_ridge_path
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import RIDGES, WIDTHS, cholesky_path, gaussian_kernel, predict_ridges


@pytest.fixture(autouse=True)
def _iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use iterations for all sizes, and divide the ridges as for many samples, where factorisations are expensive."""
    monkeypatch.setattr(ridge_cost, "MAX_TRIDIAGONAL", 0)
    monkeypatch.setattr(ridge_cost, "TRIDIAGONALISATION", 1e9)
    monkeypatch.setattr(ridge_cost, "CHOLESKY", 0.3)


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("n", [200, 700, 1500])
def test_every_ridge_against_a_cholesky_solve(n: int, widths: str) -> None:
    kernel, target, held_out = gaussian_kernel(n, widths)
    fitted = fit_ridge_path(kernel.copy(), target, RIDGES)
    expected = cholesky_path(kernel, target, RIDGES)
    assert fitted.certificates is not None
    assert (fitted.certificates <= 1.1e-7).all()
    scale = target.std(axis=0)[:, None]
    predictions = np.einsum("qn,nor->qor", held_out, expected)
    assert np.abs((fitted.predict(held_out) - predictions) / scale).max() < 1e-5
    assert np.abs((fitted.train - np.einsum("qn,nor->qor", kernel, expected)) / scale).max() < 1e-5


@pytest.mark.parametrize("ridges", [RIDGES[::-1], RIDGES[[3, 15, 0, 9]], RIDGES[[15]], RIDGES[[0, 0, 12, 12]]])
def test_ridges_in_any_order(ridges: Floats) -> None:
    kernel, target, held_out = gaussian_kernel(300, "mixed")
    actual = predict_ridges(kernel, target, held_out, list(ridges))
    expected = np.einsum("qn,nor->qor", held_out, cholesky_path(kernel, target, ridges))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)


def test_many_outputs_are_solved_in_batches_like_one() -> None:
    kernel, _, held_out = gaussian_kernel(150, "mixed")
    target = np.random.default_rng(0).normal(size=(150, 12))
    target[:, 5] = 3.0  # a constant: its coefficients are 0
    together = predict_ridges(kernel, target, held_out, RIDGES)
    for output in (0, 5, 11):
        alone = predict_ridges(kernel, target[:, [output]], held_out, RIDGES)
        np.testing.assert_allclose(together[:, [output]], alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(together[:, 5], 3.0, rtol=1e-12)


@pytest.mark.parametrize("rank", [1, 5])
def test_singular_kernels(rank: int) -> None:
    rng = np.random.default_rng(rank)
    root = rng.normal(size=(400, rank)) / 20
    kernel, target = root @ root.T, rng.normal(size=(400, 1))
    target -= target.mean(axis=0)
    fitted = fit_ridge_path(kernel.copy(), target, RIDGES)
    assert fitted.certificates is not None
    assert (fitted.certificates <= 1e-6).all()
    # in closed form: root (root'root + l I)^-1 root' y
    for number, ridge in enumerate(RIDGES):
        expected = root @ np.linalg.solve(root.T @ root + ridge * np.eye(rank), root.T @ target)
        np.testing.assert_allclose(fitted.train[:, :, number], expected, atol=1e-5)


@pytest.mark.parametrize("kernel", [np.zeros((300, 300)), np.eye(300) / 300])
def test_kernels_without_information(kernel: Floats) -> None:
    target = np.random.default_rng(0).normal(size=(300, 1))
    fitted = fit_ridge_path(kernel.copy(), target, RIDGES)
    expected = kernel[0, 0] / (kernel[0, 0] + RIDGES)
    centered = target - target.mean()
    np.testing.assert_allclose(fitted.train - target.mean(), centered[:, :, None] * expected, atol=1e-6)


def make_indefinite(n: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    kernel = (Q * np.linspace(-0.5, 1.0, n)) @ Q.T
    return (kernel + kernel.T) / 2, rng.normal(size=(n, 2))


def test_ridges_too_small_for_an_indefinite_kernel_have_no_fit() -> None:
    kernel, target = make_indefinite(120)
    ridges = [0.25, 1.0, 0.4, 0.75, 1e-6]
    fitted = fit_ridge_path(kernel.copy(), target, ridges)
    assert fitted.certificates is not None
    assert list(np.isnan(fitted.certificates)) == [True, False, True, False, True]
    assert np.isnan(fitted.predict(kernel)[:, :, [0, 2, 4]]).all()
    expected = cholesky_path(kernel, target - target.mean(axis=0), np.array([1.0, 0.75]))
    np.testing.assert_allclose(
        (fitted.train - target.mean(axis=0)[:, None])[:, :, [1, 3]],
        np.einsum("qn,nor->qor", kernel, expected),
        atol=1e-5,
    )


def test_a_kernel_that_is_indefinite_with_every_ridge_is_refused() -> None:
    kernel, target = make_indefinite(120)
    with pytest.raises(NotPositiveDefiniteError, match=r"eigenvalue below -0\.25"):
        fit_ridge_path(kernel, target, [0.125, 0.25])


def test_solutions_that_are_dominated_by_rounding_are_excluded() -> None:
    # With a norm of 1e6, the rounding error of a product is far above ridges of 2^-30.
    kernel, target, held_out = gaussian_kernel(200, "wide")
    kernel *= 1e6
    fitted = fit_ridge_path(kernel.copy(), target, [1.0, 2.0**-60])
    assert fitted.certificates is not None
    assert fitted.certificates[0] <= MAX_RESIDUAL
    assert not fitted.certificates[1] <= MAX_RESIDUAL
    predictions = fitted.predict(held_out)
    assert np.isfinite(predictions[:, :, 0]).all()
    assert np.isnan(predictions[:, :, 1]).all()
    assert np.isnan(fitted.train[:, :, 1]).all()


def test_certificates_are_the_true_residuals() -> None:
    kernel, target, _ = gaussian_kernel(300, "narrow")
    solutions, images = solve_ridge_path(InMemoryKernel(kernel.copy()), target, RIDGES)
    actual = relative_residuals(target, RIDGES, solutions, images)
    for number, ridge in enumerate(RIDGES):
        rest = target - (kernel + ridge * np.eye(300)) @ solutions[:, :, number]
        expected = (np.linalg.norm(rest, axis=0) / np.linalg.norm(target, axis=0)).max()
        np.testing.assert_allclose(actual[number], expected, rtol=1e-3, atol=1e-13)


def test_iterations_that_stop_too_early_are_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, target, _ = gaussian_kernel(300, "narrow")
    monkeypatch.setattr(iterative_ridge, "MIN_STEPS", 1)
    monkeypatch.setattr(iterative_ridge, "STEPS_RATIO", 0.1)
    fitted = fit_ridge_path(kernel.copy(), target, RIDGES)
    assert fitted.certificates is not None
    assert (fitted.certificates <= MAX_RESIDUAL).all()
    # without the repair, they are excluded; if all of them are, the fit is refused
    monkeypatch.setattr(iterative_ridge, "REFINEMENTS", 0)
    excluded = fit_ridge_path(kernel.copy(), target, RIDGES)
    assert excluded.certificates is not None
    assert (excluded.certificates > MAX_RESIDUAL).any()
    with pytest.raises(NotSolvedError, match="above 1e-06"):
        fit_ridge_path(kernel.copy(), target, RIDGES[[5]])


def test_repeated_fits_have_the_same_bytes() -> None:
    kernel, target, held_out = gaussian_kernel(300, "mixed")
    first, second = (predict_ridges(kernel, target, held_out, RIDGES) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_protein(data_dir: Path) -> None:
    """Compare 13 Gaussians with uniform weights on 4,000 rows with a Cholesky factorisation for every ridge."""
    with gzip.open(data_dir / "large" / "casp_protein.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1, max_rows=4400)
    features, labels = table[:, 1:], table[:, [0]]
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    n = 4000
    squares = (features**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[:n] - 2 * features @ features[:n].T, 0.0)
    kernel = np.zeros_like(distances)
    one = np.exp(-(2.0**-8) * distances)
    for _ in range(13):  # gamma is doubled
        means = one.mean(axis=1)
        trace = np.trace(one[:n]) - means[:n].sum()
        kernel += (one - means[:, None] - means[:n] + means[:n].mean()) / (13 * trace)
        one *= one
    target = labels[:n] - labels[:n].mean()
    fitted = fit_ridge_path(kernel[:n].copy(), target, RIDGES)
    assert fitted.certificates is not None
    assert (fitted.certificates <= 1.1e-7).all()
    predictions = fitted.predict(kernel[n:])
    for number, ridge in enumerate(RIDGES):
        matrix = kernel[:n].copy()
        matrix[np.diag_indices(n)] += ridge
        expected = kernel[n:] @ cho_solve(cho_factor(matrix, lower=True, overwrite_a=True), target)
        assert np.abs(predictions[:, :, number] - expected).max() < 1e-5 * labels.std()
