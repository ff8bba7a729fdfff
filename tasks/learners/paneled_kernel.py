"""Solve systems with a kernel in panels, of which only a few are in the memory of this process at a time.

`Panels` is the interface of objects that hold panels. `StoredPanels` holds them in this process, in memory or in a
file; another implementation can hold them in other processes, and call the functions of `panel_steps` there.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.learners import panel_steps
from kernel_pipeline.tasks.learners.kernel_operator import Solve
from kernel_pipeline.tasks.progress import report_progress

KERNEL, FACTOR = "kernel", "factor"

Step = Callable[[Floats, slice, Any], Any]
"""Function of a panel, its rows, and an argument that is the same for all panels."""


class Panels(Protocol):
    """The panels of a kernel and of its Cholesky factor R, `K + ridge I = R'R`, which have the same shapes."""

    @property
    def spans(self) -> Sequence[slice]:
        """Return the rows of each panel."""

    def map(self, step: Step, argument: Any = None) -> Iterator[Any]:
        """Yield the results of a function of each panel of the kernel, in order."""

    def center(self, means: Floats) -> None:
        """Center the kernel, given the means of its rows."""

    def factorise(self, ridge: float) -> None:
        """Compute the panels of R, which replace those of an earlier factor.

        Raises
        ------
        FactorisationError
            If `K + ridge I` is not positive definite.
        """

    def substitute(self, block: Floats) -> Floats:
        """Return `(R'R)^-1 block` by one pass over R in each direction."""


class PaneledKernel:
    """A symmetric kernel of n training samples in panels: a `KernelOperator` whose values need not be in memory.

    All sums are computed here, in the order of the panels, so that they do not depend on where the panels are.

    Parameters
    ----------
    panels
        Panels of the kernel; `center_panels` centers them.
    """

    def __init__(self, panels: Panels) -> None:
        self._panels = panels

    @property
    def size(self) -> int:
        """Return the number of samples n."""
        return int(self._panels.spans[-1].stop)

    def multiply(self, block: Floats) -> Floats:
        """Return `K @ block` for a block of columns, (n, c)."""
        return self._sum(panel_steps.multiply, block.shape, np.ascontiguousarray(block))

    def diagonal(self) -> Floats:
        """Return the diagonal of K."""
        return np.concatenate(list(self._panels.map(panel_steps.read_diagonal)))

    def square_sums(self) -> Floats:
        """Return the sum of the squares of each row, (n,)."""
        return self._sum(panel_steps.sum_squares, (self.size,))

    def columns(self, indices: Integers) -> Floats:
        """Return columns of K, (n, number of indices)."""
        found = np.empty((self.size, len(indices)), order="F")
        parts = self._panels.map(panel_steps.read_columns, indices)
        for rows, (beside, inside) in zip(self._panels.spans, parts, strict=True):
            found[rows, np.flatnonzero(indices >= rows.start)] = beside
            found[rows.start :, np.flatnonzero((indices >= rows.start) & (indices < rows.stop))] = inside
        return found

    def factorise(self, ridge: float) -> Solve | None:
        """Factorise `K + ridge I`, and return a function that solves systems with it; None if not positive definite."""
        try:
            self._panels.factorise(ridge)
        except panel_steps.FactorisationError:
            return None
        return lambda block: self._panels.substitute(np.array(block, dtype=np.float64, order="C"))

    def center(self) -> Floats:
        """Center the kernel with the means of its rows; return the deviations of these means from their mean, (n,)."""
        means = self._sum(panel_steps.sum_rows, (self.size,)) / self.size
        self._panels.center(means)
        return np.asarray(means - means.mean())

    def _sum(self, step: Step, shape: tuple[int, ...], argument: Any = None) -> Floats:
        """Return the sum of what panels contribute to their own rows and to all later rows."""
        found = np.zeros(shape)
        for rows, (own, later) in zip(self._panels.spans, self._panels.map(step, argument), strict=True):
            found[rows] += own
            found[rows.stop :] += later
        return found


def center_panels(panels: Panels) -> tuple[PaneledKernel, Floats]:
    """Center a kernel in panels.

    Returns
    -------
    kernel, offsets
        The centered kernel, and the deviations of the means of its rows from their mean, (n,), for `center_rows`.
    """
    kernel = PaneledKernel(panels)
    return kernel, kernel.center()


class PanelStore(Protocol):
    """Storage for panels, in memory or in a file."""

    def put(self, kind: str, number: int, values: Floats) -> None:
        """Store a panel, or replace one of the same shape. The array must not be changed afterwards."""

    def get(self, kind: str, number: int) -> Floats:
        """Return a panel, which must not be changed."""


class StoredPanels:
    """Panels that this process holds: `Panels` for one worker.

    Parameters
    ----------
    bounds
        Start of each panel, followed by n.
    compute
        Function that returns a panel of the kernel before centering, given its number.
    store
        Storage for the panels.
    """

    def __init__(self, bounds: Sequence[int], compute: Callable[[int], Floats], store: PanelStore) -> None:
        self.spans = tuple(slice(*ends) for ends in pairwise(bounds))
        self._compute, self._store = compute, store
        self._computed = 0
        """Number of panels that are stored."""

    def map(self, step: Step, argument: Any = None) -> Iterator[Any]:
        for number, rows in enumerate(self.spans):
            yield step(self._kernel(number), rows, argument)

    def center(self, means: Floats) -> None:
        for number, rows in enumerate(self.spans):
            self._store.put(KERNEL, number, panel_steps.center(self._kernel(number), rows, means))

    def factorise(self, ridge: float) -> None:
        for number, rows in enumerate(self.spans):
            report_progress(f"factorisation, panel {number + 1} of {len(self.spans)}")
            rest = panel_steps.add_ridge(self._kernel(number), ridge)
            for earlier, above in enumerate(self.spans[:number]):
                rest = panel_steps.subtract_product(rest, self._store.get(FACTOR, earlier), rows.start - above.start)
            self._store.put(FACTOR, number, panel_steps.factorise(rest))
            del rest  # so that no more panels than needed are in memory

    def substitute(self, block: Floats) -> Floats:
        for number, rows in enumerate(self.spans):
            block = panel_steps.substitute_forward(self._store.get(FACTOR, number), rows, block)
        for number, rows in reversed(list(enumerate(self.spans))):
            block = panel_steps.substitute_backward(self._store.get(FACTOR, number), rows, block)
        return block

    def _kernel(self, number: int) -> Floats:
        """Return a panel of the kernel, which is computed when it is used for the first time."""
        if number < self._computed:
            return self._store.get(KERNEL, number)
        report_progress(f"kernel, panel {number + 1} of {len(self.spans)}")
        values = self._compute(number)
        self._store.put(KERNEL, number, values)
        self._computed += 1
        return values
