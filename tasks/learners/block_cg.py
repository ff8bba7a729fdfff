"""Solve `(K + l I) x = y` for many ridges l and outputs y at once, by preconditioned conjugate gradients.

Each pair of an output and a ridge is one column with its own iteration. All columns share the products with the kernel,
which dominate the cost; a column that has converged is removed from the block.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers

Precondition = Callable[[Floats, Floats], Floats]
"""Function of a block of columns and their ridges that returns the preconditioned columns."""
Multiply = Callable[[Floats], Floats]


@dataclass
class CgState:
    """The state between two steps: arrays that can be stored, and from which the iteration can be resumed.

    The arrays before `active` have one column or entry per system; those after it have one per active system.
    """

    ridges: Floats
    limits: Floats
    """Norm of the residual at which a column has converged."""
    solutions: Floats
    """(n, number of systems), in Fortran order."""
    indefinite: Booleans
    """Whether `K + l I` was found not to be positive definite."""

    active: Integers
    """Indices of the systems that have not converged."""
    residuals: Floats
    directions: Floats
    products: Floats
    """Products `r'z` of the residuals r and the preconditioned residuals z."""
    steps: int = 0


def start(residuals: Floats, ridges: Floats, limits: Floats, precondition: Precondition) -> CgState:
    """Return the state before the first step, in which all solutions are 0.

    Parameters
    ----------
    residuals
        Right-hand sides, (n, number of systems).
    ridges, limits
        Ridge of each system, and the norm of its residual at which it has converged.
    """
    active = np.flatnonzero(np.linalg.norm(residuals, axis=0) > limits)
    r = np.asfortranarray(residuals[:, active])
    z = precondition(r, ridges[active])
    solutions = np.zeros(residuals.shape, order="F")
    return CgState(ridges, limits, solutions, np.zeros(len(ridges), dtype=bool), active, r, z, _dots(r, z))


def step(state: CgState, multiply: Multiply, precondition: Precondition) -> None:
    """Advance all active columns by one step, and remove those that have converged or are indefinite."""
    ridges, p, r = state.ridges[state.active], state.directions, state.residuals
    images = multiply(p)
    images += ridges * p
    curvatures = _dots(p, images)
    definite = curvatures > 0
    lengths = np.divide(state.products, curvatures, out=np.zeros_like(curvatures), where=definite)
    state.indefinite[state.active[~definite]] = True
    state.solutions[:, state.active] += lengths * p
    images *= lengths
    r -= images
    state.steps += 1
    kept = np.flatnonzero(definite & (np.linalg.norm(r, axis=0) > state.limits[state.active]))
    if len(kept) < len(state.active):
        state.active, products = state.active[kept], state.products[kept]
        r, p, ridges = (np.asfortranarray(array[..., kept]) for array in (r, p, ridges))
    else:
        products = state.products
    if len(kept):
        z = precondition(r, ridges)
        state.products = _dots(r, z)
        p *= state.products / products
        p += z
    state.residuals, state.directions = r, p


def _dots(left: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", left, right))
