"""Kernels and references for the tests of ridge paths."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernel_pipeline.tasks.learners.ridge import fit_ridge_path
from tests.tasks.dense import Floats

RIDGES = np.array([2.0**exponent for exponent in range(0, -31, -2)])
# Exponents of gamma of Gaussian kernels of three features: smooth, mixed, and narrow with a heavy tail.
WIDTHS = {"wide": range(-8, -3), "mixed": range(-6, 4), "narrow": range(2, 7)}


def gaussian_kernel(n: int, widths: str, seed: int = 0, held_out: int = 40) -> tuple[Floats, Floats, Floats]:
    """Return a centered kernel of trace one, two columns of centered labels, and the rows of held-out samples."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n + held_out, 3))
    distances = np.maximum(((features[:, None] - features[None, :n]) ** 2).sum(axis=2), 0.0)
    kernel = np.zeros((n + held_out, n))
    for exponent in WIDTHS[widths]:
        one = np.exp(-(2.0**exponent) * distances)
        one -= one.mean(axis=1, keepdims=True)
        one -= one[:n].mean(axis=0)
        kernel += one / np.trace(one[:n])
    kernel /= len(WIDTHS[widths])
    square = (kernel[:n] + kernel[:n].T) / 2
    labels = np.column_stack([np.sin(2 * features[:n, 0]), np.cos(features[:n, 1])]) + 0.1 * rng.normal(size=(n, 2))
    return square, labels - labels.mean(axis=0), kernel[n:]


def predict_ridges(kernel: Floats, target: Floats, held_out: Floats, ridges: Sequence[float] | Floats) -> Floats:
    """Predict held-out samples for every ridge; the kernel is copied, since the fit overwrites it."""
    return fit_ridge_path(kernel.copy(), target, ridges).predict(held_out)


def cholesky_path(kernel: Floats, target: Floats, ridges: Floats) -> Floats:
    """Return the solutions for every ridge, each by its own Cholesky factorisation and two steps of refinement."""
    found = []
    for ridge in ridges:
        matrix = kernel + ridge * np.eye(len(kernel))
        factor = cho_factor(matrix)
        solution = cho_solve(factor, target)
        for _ in range(2):
            solution = solution + cho_solve(factor, target - matrix @ solution)
        found.append(solution)
    return np.stack(found, axis=2)
