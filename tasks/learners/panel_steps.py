"""Define the steps of all operations on a kernel in panels, each of which uses one or two panels.

Panel j contains some rows of a symmetric matrix, and the columns from its first row on: the panels are the upper
triangle of the matrix, with full squares on its diagonal. The functions change none of their arguments. Wherever they
run, they return the same numbers, so results do not depend on where panels are held.
"""

from typing import Any

import numpy as np
from scipy.linalg import lapack, solve_triangular

from kernel_pipeline.tasks.arrays import Floats, Integers, require_finite


class FactorisationError(ValueError):
    """A matrix that is to be factorised is not positive definite."""


def sum_rows(panel: Floats, rows: slice, _: Any = None) -> tuple[Floats, Floats]:
    """Return the contributions of a panel to the sums of its own rows, and of all later rows."""
    require_finite("the kernel", panel)
    return panel.sum(axis=1), panel[:, len(panel) :].sum(axis=0)


def center(panel: Floats, rows: slice, means: Floats) -> Floats:
    """Return a panel of the centered kernel, given the means of all rows of the kernel."""
    centered = panel - means[rows, None]
    centered -= (means - means.mean())[rows.start :]
    return np.asarray(centered)


def multiply(panel: Floats, rows: slice, block: Floats) -> tuple[Floats, Floats]:
    """Return the contributions of a panel to its own rows, and to all later rows, of the product with a block."""
    return panel @ block[rows.start :], panel[:, len(panel) :].T @ block[rows]


def read_diagonal(panel: Floats, rows: slice, _: Any = None) -> Floats:
    """Return the diagonal of the square in a panel."""
    return np.diagonal(panel).copy()  # a view would keep the panel in memory


def sum_squares(panel: Floats, rows: slice, _: Any = None) -> tuple[Floats, Floats]:
    """Return the contributions of a panel to the sums of squares of its own rows, and of all later rows."""
    beside = panel[:, len(panel) :]
    return np.einsum("ij,ij->i", panel, panel), np.einsum("ij,ij->j", beside, beside)


def read_columns(panel: Floats, rows: slice, indices: Integers) -> tuple[Floats, Floats]:
    """Return the parts of some columns that a panel contains.

    Returns
    -------
    beside
        The columns whose index is in the panel or after it, in the rows of the panel.
    inside
        The columns whose index is in the panel, in its rows and all later ones.
    """
    beside = panel[:, indices[indices >= rows.start] - rows.start]
    inside = panel[indices[(indices >= rows.start) & (indices < rows.stop)] - rows.start].T
    return beside, inside


def add_ridge(panel: Floats, ridge: float) -> Floats:
    """Return a panel of the kernel with a ridge added to its diagonal, from which a panel of the factor is computed."""
    rest = panel.copy()
    np.einsum("ii->i", rest[:, : len(rest)])[:] += ridge
    return rest


def subtract_product(rest: Floats, factor: Floats, offset: int) -> Floats:
    """Subtract the contribution of an earlier panel of the factor from a panel that is being factorised.

    Parameters
    ----------
    rest
        The panel, without the contributions of all panels before `factor`.
    offset
        Number of rows between the first rows of both panels.
    """
    beside = factor[:, offset:]
    product = beside[:, : len(rest)].T @ beside
    return np.subtract(rest, product, out=product)


def factorise(rest: Floats) -> Floats:
    """Return a panel of the Cholesky factor, given the panel without the contributions of all earlier ones.

    Raises
    ------
    FactorisationError
        If the matrix is not positive definite.
    """
    size = len(rest)
    root, failed_minor = lapack.dpotrf(rest[:, :size], lower=0)
    if failed_minor:
        raise FactorisationError
    found = np.empty(rest.shape)
    found[:, :size] = root
    found[:, size:] = solve_triangular(root, rest[:, size:], trans="T", check_finite=False)
    return found


def substitute_forward(panel: Floats, rows: slice, found: Floats) -> Floats:
    """Perform the step of solving `R'x = b` that uses one panel of R; the panels are used in order.

    `found` holds x in the rows before the panel, and the remainder of b in all other rows.
    """
    found, size = found.copy(), len(panel)
    found[rows] = solve_triangular(panel[:, :size], found[rows], trans="T", check_finite=False)
    found[rows.stop :] -= panel[:, size:].T @ found[rows]
    return found


def substitute_backward(panel: Floats, rows: slice, found: Floats) -> Floats:
    """Perform the step of solving `R x = b` that uses one panel of R; the panels are used in reverse order.

    `found` holds x in the rows after the panel, and b in all other rows.
    """
    found, size = found.copy(), len(panel)
    rest = found[rows] - panel[:, size:] @ found[rows.stop :]
    found[rows] = solve_triangular(panel[:, :size], rest, check_finite=False)
    return found
