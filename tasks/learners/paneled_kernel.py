"""Solve with a kernel that is held in panels, of which only a few are in memory at a time.

Panel j contains the rows from `bounds[j]` to `bounds[j + 1]`, and the columns from `bounds[j]` on: the panels are the
upper triangle of the kernel, with full squares on its diagonal. Its Cholesky factor R, `K + ridge I = R'R`, has panels
of the same shapes. All operations read one panel at a time, in a fixed order.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import lapack, solve_triangular

from kernel_pipeline.tasks.arrays import Floats, Integers, require_finite
from kernel_pipeline.tasks.learners.kernel_operator import Solve

KERNEL, FACTOR = "kernel", "factor"


class PanelStore(Protocol):
    """Storage for panels, in memory or elsewhere."""

    def put(self, kind: str, number: int, values: Floats) -> None:
        """Store a panel, or replace one of the same shape. The array must not be changed afterwards."""

    def get(self, kind: str, number: int) -> Floats:
        """Return a panel, which must not be changed."""


class PaneledKernel:
    """A symmetric kernel of n training samples in panels: a `KernelOperator` whose values need not be in memory.

    Parameters
    ----------
    bounds
        Start of each panel, followed by n.
    panels
        Panels of the kernel, as `centered_panels` stores them.
    """

    def __init__(self, bounds: Sequence[int], panels: PanelStore) -> None:
        self._bounds, self._panels = tuple(bounds), panels

    @property
    def size(self) -> int:
        """Return the number of samples n."""
        return self._bounds[-1]

    def multiply(self, block: Floats) -> Floats:
        """Return `K @ block` for a block of columns, (n, c)."""
        found = np.zeros(block.shape)
        for rows, panel in self._read(KERNEL):
            found[rows] += panel @ block[rows.start :]
            found[rows.stop :] += panel[:, len(panel) :].T @ block[rows]
        return found

    def diagonal(self) -> Floats:
        """Return the diagonal of K."""
        return np.concatenate([np.diagonal(panel).copy() for _, panel in self._read(KERNEL)])  # views would keep panels

    def square_sums(self) -> Floats:
        """Return the sum of the squares of each row, (n,)."""
        found = np.zeros(self.size)
        for rows, panel in self._read(KERNEL):
            found[rows] += np.einsum("ij,ij->i", panel, panel)
            beside = panel[:, len(panel) :]
            found[rows.stop :] += np.einsum("ij,ij->j", beside, beside)
        return found

    def columns(self, indices: Integers) -> Floats:
        """Return columns of K, (n, number of indices)."""
        found = np.empty((self.size, len(indices)), order="F")
        for rows, panel in self._read(KERNEL):
            beside = np.flatnonzero(indices >= rows.start)
            found[rows, beside] = panel[:, indices[beside] - rows.start]
            inside = np.flatnonzero((indices >= rows.start) & (indices < rows.stop))
            found[rows.start :, inside] = panel[indices[inside] - rows.start].T
        return found

    def factorise(self, ridge: float) -> Solve | None:
        """Factorise `K + ridge I`, and return a function that solves systems with it; None if it is not definite."""
        for number, (rows, panel) in enumerate(self._read(KERNEL)):
            rest, size = panel.copy(), len(panel)
            del panel  # here and below, so that no more panels than needed are in memory
            np.einsum("ii->i", rest[:, :size])[:] += ridge
            for above, factor in self._read(FACTOR, number):
                beside = factor[:, rows.start - above.start :]
                rest -= beside[:, :size].T @ beside
                del factor, beside
            root, failed_minor = lapack.dpotrf(rest[:, :size], lower=0)
            if failed_minor:
                return None
            rest[:, :size] = root
            rest[:, size:] = solve_triangular(root, rest[:, size:], trans="T", check_finite=False)
            self._panels.put(FACTOR, number, rest)
        return self._solve

    def _solve(self, block: Floats) -> Floats:
        """Return `(R'R)^-1 block` by one pass over the factor in each direction."""
        found = np.array(block, dtype=np.float64)
        for rows, panel in self._read(FACTOR):
            found[rows] = solve_triangular(panel[:, : len(panel)], found[rows], trans="T", check_finite=False)
            found[rows.stop :] -= panel[:, len(panel) :].T @ found[rows]
        for rows, panel in self._read(FACTOR, reverse=True):
            rest = found[rows] - panel[:, len(panel) :] @ found[rows.stop :]
            found[rows] = solve_triangular(panel[:, : len(panel)], rest, check_finite=False)
        return found

    def _read(self, kind: str, count: int | None = None, reverse: bool = False) -> Iterator[tuple[slice, Floats]]:
        """Yield the rows and the values of each panel, or of the first ones."""
        numbers = range(len(self._bounds) - 1 if count is None else count)
        for number in reversed(numbers) if reverse else numbers:
            yield slice(self._bounds[number], self._bounds[number + 1]), self._panels.get(kind, number)


def centered_panels(
    values: Iterator[Floats], bounds: Sequence[int], panels: PanelStore
) -> tuple[PaneledKernel, Floats]:
    """Store the panels of a kernel, and center them with the means of its rows.

    Parameters
    ----------
    values
        Panels of the kernel before centering, in order.

    Returns
    -------
    kernel, offsets
        The centered kernel, and the deviations of the means from their mean, (n,), for `center_rows`.
    """
    sums, spans = np.zeros(bounds[-1]), [slice(*ends) for ends in pairwise(bounds)]
    for number, (rows, panel) in enumerate(zip(spans, values, strict=True)):
        require_finite("the kernel", panel)
        sums[rows] += panel.sum(axis=1)
        sums[rows.stop :] += panel[:, len(panel) :].sum(axis=0)
        panels.put(KERNEL, number, panel)
        del panel
    means = sums / bounds[-1]
    offsets = means - means.mean()
    for number, rows in enumerate(spans):
        panel = panels.get(KERNEL, number) - means[rows, None]
        panel -= offsets[rows.start :]
        panels.put(KERNEL, number, panel)
        del panel
    return PaneledKernel(bounds, panels), offsets
