"""The ends of spectra, compared with the eigenvalues of numpy."""

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.spectrum import (
    MAX_LANCZOS_STEPS,
    Spectrum,
    clip_eigenvalues,
    dense_spectrum,
    is_positive_definite,
    lanczos_spectrum,
)


def with_eigenvalues(values: Floats) -> Floats:
    """Return a symmetric matrix with given eigenvalues and random eigenvectors."""
    vectors, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((len(values), len(values))))
    matrix = (vectors * values) @ vectors.T
    return np.asarray((matrix + matrix.T) / 2)


def test_the_spectrum_is_that_of_numpy() -> None:
    matrix = with_eigenvalues(np.linspace(-2.0, 8.0, 30))
    values = np.linalg.eigvalsh(matrix)
    found = dense_spectrum(matrix.copy())
    assert found.smallest == pytest.approx(values[0], abs=1e-12)
    assert found.largest == pytest.approx(values[-1], abs=1e-12)
    assert found.negative == (values < 0).sum()
    assert found.negative_share == pytest.approx(-values[values < 0].sum() / np.abs(values).sum(), abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 30, 400])
def test_lanczos_iteration_finds_both_ends(size: int) -> None:
    values = np.exp(-np.arange(size) / 3.0)
    values[-1] = -0.25 if size > 1 else 1.0
    matrix = with_eigenvalues(values)
    products = []

    def multiply(vector: Floats) -> Floats:
        products.append(vector)
        return np.asarray(matrix @ vector)

    found = lanczos_spectrum(multiply, size)
    assert found.smallest == pytest.approx(values.min(), abs=1e-8)
    assert found.largest == pytest.approx(values.max(), abs=1e-8)
    assert len(products) <= min(size, MAX_LANCZOS_STEPS)
    assert found.negative is None


def test_lanczos_iteration_of_a_low_rank_stops_early() -> None:
    factor = np.random.default_rng(2).standard_normal((50, 3))
    found = lanczos_spectrum(lambda vector: np.asarray(factor @ (factor.T @ vector)), 50)
    assert found.is_semidefinite(1e-10)
    assert found.largest == pytest.approx(np.linalg.norm(factor, 2) ** 2)


@pytest.mark.parametrize(("least", "accepted"), [(1e-3, True), (0.0, True), (-1e-11, True), (-1e-9, False)])
def test_a_factorisation_accepts_up_to_the_ridge(least: float, accepted: bool) -> None:
    matrix = with_eigenvalues(np.append(np.linspace(0.5, 1.0, 20), least))
    assert is_positive_definite(matrix.copy(), 1e-10) == accepted
    assert dense_spectrum(matrix).is_semidefinite(1e-10) == accepted


def test_the_positive_part_has_the_positive_eigenvalues_and_is_exactly_symmetric() -> None:
    matrix = with_eigenvalues(np.linspace(-2.0, 8.0, 30))
    part = clip_eigenvalues(matrix.copy())
    assert (part == part.T).all()
    np.testing.assert_allclose(np.linalg.eigvalsh(part), np.linspace(-2.0, 8.0, 30).clip(0), atol=1e-12)
    values, vectors = np.linalg.eigh(matrix)
    np.testing.assert_allclose(part, (vectors * values.clip(0)) @ vectors.T, atol=1e-12)


def test_a_matrix_of_zeros_has_no_negative_share() -> None:
    assert dense_spectrum(np.zeros((3, 3))) == Spectrum(smallest=0.0, largest=0.0, negative=0, negative_share=0.0)
