"""Kernels in panels against dense matrices."""

import tracemalloc

import numpy as np
import pytest

from kernel_pipeline.stages.scratch import Scratch
from kernel_pipeline.tasks.centering import center_rows
from kernel_pipeline.tasks.learners.iterative_ridge import (
    relative_residuals,
    solve_large_ridges,
    solve_ridge_group,
    solve_ridge_path,
)
from kernel_pipeline.tasks.learners.panel_memory import PanelMemory
from kernel_pipeline.tasks.learners.paneled_kernel import PaneledKernel, StoredPanels, center_panels
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import RIDGES, cholesky_path, gaussian_kernel

BOUNDS = [[0, 90], [0, 1, 90], [0, 30, 60, 90], [0, 17, 18, 71, 90]]


class Panels:
    """Panels in memory, which must not be changed."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, int], Floats] = {}

    def put(self, kind: str, number: int, values: Floats) -> None:
        values.flags.writeable = False
        self.values[kind, number] = values

    def get(self, kind: str, number: int) -> Floats:
        return self.values[kind, number]


def paneled(dense: Floats, bounds: list[int]) -> tuple[PaneledKernel, Floats]:
    def compute(number: int) -> Floats:
        return dense[bounds[number] : bounds[number + 1], bounds[number] :].copy()

    return center_panels(StoredPanels(bounds, compute, Panels()))


def make_kernel(n: int = 90) -> Floats:
    root = np.random.default_rng(n).normal(size=(n, n + 3))
    return np.asarray(root @ root.T / n + 5.0)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_operations_are_those_of_the_centered_dense_kernel(bounds: list[int]) -> None:
    raw, rng = make_kernel(), np.random.default_rng(0)
    center = np.eye(90) - 1 / 90
    dense, block, indices = center @ raw @ center, rng.normal(size=(90, 3)), np.array([0, 89, 17, 45])
    kernel, offsets = paneled(raw, bounds)
    assert kernel.size == 90
    rows = raw[[3, 20]]
    center_rows(rows, offsets)
    np.testing.assert_allclose(rows, dense[[3, 20]], atol=1e-12)
    np.testing.assert_allclose(kernel.multiply(block), dense @ block, atol=1e-11)
    np.testing.assert_allclose(kernel.columns(indices), dense[:, indices], atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(), dense.diagonal(), atol=1e-12)
    np.testing.assert_allclose(kernel.square_sums(), (dense**2).sum(axis=1), rtol=1e-12)
    for ridge in (1.0, 0.01):
        solve = kernel.factorise(ridge)
        assert solve is not None
        np.testing.assert_allclose(solve(block), np.linalg.solve(dense + ridge * np.eye(90), block), rtol=1e-8)


def test_an_indefinite_matrix_has_no_factor() -> None:
    kernel, _ = paneled(make_kernel() - 3.0 * np.eye(90), BOUNDS[2])
    assert kernel.factorise(0.1) is None
    assert kernel.factorise(3.5) is not None


def test_values_that_are_not_finite_are_refused() -> None:
    dense = make_kernel()
    dense[80, 80] = np.nan
    with pytest.raises(ValueError, match="the kernel must be finite"):
        paneled(dense, BOUNDS[2])


@pytest.mark.parametrize("widths", ["wide", "mixed", "narrow"])
def test_ridge_paths_are_solved_to_their_residuals(widths: str) -> None:
    square, target, _ = gaussian_kernel(300, widths)
    kernel, _ = paneled(square, [0, 100, 128, 300])
    solutions, images = solve_ridge_path(kernel, target, RIDGES)
    assert relative_residuals(target, RIDGES, solutions, images).max() <= 1e-6
    expected = square @ cholesky_path(square, target, RIDGES).reshape(300, -1)
    np.testing.assert_allclose(images.reshape(300, -1), expected, atol=1e-5)


def test_no_more_panels_are_in_memory_than_projected() -> None:
    n, width = 3000, 100
    bounds = list(range(0, n + 1, width))
    target = np.random.default_rng(0).normal(size=(n, 1))

    def compute(number: int) -> Floats:
        return np.full((width, n - bounds[number]), 1e-6) + np.eye(width, n - bounds[number]) / n

    with Scratch(0) as scratch:
        tracemalloc.start()
        try:
            kernel, _ = center_panels(StoredPanels(bounds, compute, scratch))
            solve_large_ridges(kernel, target - target.mean(), np.array([1.0, 0.5]))
            solve_ridge_group(kernel, target - target.mean(), np.array([2.0**-6, 2.0**-7]))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    needed = PanelMemory(width, 0, n).needed_bytes(systems=2)
    assert 0.3 * needed <= peak <= needed
