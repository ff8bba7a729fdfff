"""Define the operations on a kernel that the solvers of a ridge path use, and implement them for a kernel in memory.

The kernel is in one triangle of a square array, and its Cholesky factor is computed in the other one, so that both
together need memory for n^2 numbers, plus copies of their two diagonals.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from scipy.linalg import blas, lapack

from kernel_pipeline.tasks.arrays import Floats, Integers

Solve = Callable[[Floats], Floats]
"""Function of a block of columns B that returns `(K + ridge I)^-1 B`, for one ridge."""
# Side of the squares in which triangles are mirrored: two of them fit into the cache.
MIRROR_SIDE = 128


class KernelOperator(Protocol):
    """A symmetric kernel of n training samples, whose values need not be in the memory of one process."""

    @property
    def size(self) -> int:
        """Return the number of samples n."""

    def multiply(self, block: Floats) -> Floats:
        """Return `K @ block` for a block of columns, (n, c)."""

    def diagonal(self) -> Floats:
        """Return the diagonal of K."""

    def columns(self, indices: Integers) -> Floats:
        """Return columns of K, (n, number of indices)."""

    def factorise(self, ridge: float) -> Solve | None:
        """Factorise `K + ridge I`, and return a function that solves systems with this matrix.

        The function is valid until the next call of `factorise`. None is returned if the matrix is not positive
        definite.
        """


class InMemoryKernel:
    """A kernel in a square array, which is overwritten.

    Parameters
    ----------
    square
        (n, n), symmetric, in C order and writable. Only its lower triangle is read; it is preserved, except for the
        diagonal while factors are used. The upper triangle is overwritten by factors.
    """

    def __init__(self, square: Floats) -> None:
        if square.dtype != np.float64 or not square.flags.c_contiguous or not square.flags.writeable:
            raise ValueError("the kernel must be a writable array of float64 in C order, since it is overwritten")
        # BLAS and LAPACK use Fortran order: the lower triangle of `square` is the upper triangle of this view.
        self.array = square.T
        self._diagonal_view = np.einsum("ii->i", square)
        self._diagonal = self._diagonal_view.copy()

    @property
    def size(self) -> int:
        return len(self.array)

    def multiply(self, block: Floats) -> Floats:
        return np.asarray(blas.dsymm(1.0, self.array, block, lower=0))

    def diagonal(self) -> Floats:
        return np.array(self._diagonal)

    def columns(self, indices: Integers) -> Floats:
        found = np.empty((self.size, len(indices)), order="F")
        for number, index in enumerate(indices):
            found[:index, number] = self.array[:index, index]
            found[index:, number] = self.array[index, index:]
        return found

    def factorise(self, ridge: float) -> Solve | None:
        self.mirror()
        with self.other_diagonal(self._diagonal + ridge):
            # `clean=0` leaves the other triangle, which contains the kernel, as it is.
            _, failed_minor = lapack.dpotrf(self.array, lower=1, clean=0, overwrite_a=1)
            factor_diagonal = self._diagonal_view.copy()
        if failed_minor:
            return None

        def solve(block: Floats) -> Floats:
            with self.other_diagonal(factor_diagonal):
                solution, _ = lapack.dpotrs(self.array, block, lower=1)
            return np.asarray(solution)

        return solve

    def mirror(self) -> None:
        """Copy the triangle of the kernel to the other triangle."""
        array, n = self.array, self.size
        for start in range(0, n, MIRROR_SIDE):
            stop = min(start + MIRROR_SIDE, n)
            for first in range(stop, n, MIRROR_SIDE):
                rows = slice(first, min(first + MIRROR_SIDE, n))
                array[rows, start:stop] = array[start:stop, rows].T
            square = array[start:stop, start:stop]
            below = np.tril_indices(stop - start, -1)
            square[below] = square.T[below]

    @contextmanager
    def other_diagonal(self, values: Floats) -> Iterator[None]:
        """Replace the diagonal of the array, which both triangles share, by another one within the context."""
        self._diagonal_view[:] = values
        try:
            yield
        finally:
            self._diagonal_view[:] = self._diagonal
