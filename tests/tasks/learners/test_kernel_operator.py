import numpy as np
import pytest

from kernel_pipeline.tasks.learners.kernel_operator import InMemoryKernel
from tests.tasks.dense import Floats

# Sizes below, at and above the side length of the blocks that are mirrored.
SIZES = [1, 2, 127, 128, 129, 300]


def make_kernel(n: int) -> Floats:
    root = np.random.default_rng(n).normal(size=(n, n + 3))
    return np.asarray(root @ root.T / n)


@pytest.mark.parametrize("n", SIZES)
def test_products_columns_and_solves_are_those_of_the_dense_kernel(n: int) -> None:
    dense = make_kernel(n)
    operator = InMemoryKernel(dense.copy())
    block = np.random.default_rng(0).normal(size=(n, 3))
    indices = np.array([0, n - 1, n // 2])
    for ridge in (None, 1.0, 0.01):  # before any factorisation, after one, and after another one
        solve = None if ridge is None else operator.factorise(ridge)
        np.testing.assert_allclose(operator.multiply(block), dense @ block, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(operator.columns(indices), dense[:, indices])
        np.testing.assert_array_equal(operator.diagonal(), dense.diagonal())
        if solve is not None and ridge is not None:
            expected = np.linalg.solve(dense + ridge * np.eye(n), block)
            np.testing.assert_allclose(solve(block), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_the_kernel_and_its_factor_are_stored_in_the_given_array(n: int) -> None:
    dense = make_kernel(n)
    square = dense.copy()
    operator = InMemoryKernel(square)
    assert np.shares_memory(operator.array, square)
    assert operator.factorise(0.5) is not None
    np.testing.assert_array_equal(np.tril(square), np.tril(dense))  # the kernel, with its diagonal
    factor = np.linalg.cholesky(dense + 0.5 * np.eye(n))
    np.testing.assert_allclose(np.triu(square, 1), np.triu(factor.T, 1), rtol=1e-9, atol=1e-12)


def test_only_the_lower_triangle_is_read() -> None:
    dense = make_kernel(50)
    square = np.tril(dense) + np.triu(np.full((50, 50), 7.0), 1)
    operator = InMemoryKernel(square)
    np.testing.assert_allclose(operator.multiply(np.eye(50)), dense, rtol=1e-14)
    solve = operator.factorise(1.0)
    assert solve is not None
    np.testing.assert_allclose(solve(np.eye(50)), np.linalg.inv(dense + np.eye(50)), rtol=1e-8, atol=1e-10)


def test_an_indefinite_matrix_has_no_factor_and_the_kernel_remains() -> None:
    dense = make_kernel(40) - 3.0 * np.eye(40)
    operator = InMemoryKernel(dense.copy())
    assert operator.factorise(0.1) is None
    np.testing.assert_allclose(operator.multiply(np.eye(40)), dense, rtol=1e-14)
    assert operator.factorise(3.5) is not None


@pytest.mark.parametrize("square", [np.eye(4)[:, ::-1], np.eye(4, dtype=np.float32), np.broadcast_to(1.0, (3, 3))])
def test_an_array_that_would_be_copied_is_refused(square: Floats) -> None:
    with pytest.raises(ValueError, match="C order"):
        InMemoryKernel(square)
