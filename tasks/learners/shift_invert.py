"""Solve `(K + l I) x = y` for neighbouring ridges l with one factorisation, at a ridge l0 between them.

With `B = (K + l0 I)^-1`, the systems are `(I + (l - l0) B) z = y` and `x = B z`. The Lanczos vectors of B that start at
y are the same for every l: a step solves one system per output with the factor, however many ridges there are. The
condition number is at most `max(l / l0, l0 / l)`, and the residual of z is the residual of x.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.learners.kernel_operator import Solve

# After projecting out the other Lanczos vectors, a remainder below this fraction of the norm is rounding error.
ROUNDING = 1e-14


@dataclass
class LanczosState:
    """The state between two steps: arrays that can be stored, and from which the iteration can be resumed."""

    factorised_ridge: float
    """The ridge l0 of the factorisation."""
    ridges: Floats
    norms: Floats
    """Norms of the right-hand sides, (outputs,)."""
    tolerance: float
    """Residual, relative to these norms, at which a solution has converged."""
    vectors: Floats
    """Lanczos vectors, (outputs, maximum number of steps + 1, n)."""
    diagonals: Floats
    """Diagonals of the tridiagonal matrices `T = V'BV`, (outputs, maximum number of steps)."""
    off_diagonals: Floats
    coordinates: Floats
    """Coordinates of the solutions in the Lanczos vectors, (outputs, maximum number of steps + 1, ridges)."""
    indefinite: Booleans
    """Whether `K + l I` was found not to be positive definite, (ridges,)."""
    converged: Booleans
    """(outputs, ridges)"""
    steps: int = 0

    @property
    def is_done(self) -> bool:
        """Return whether all solutions have converged, or the maximum number of steps is reached."""
        return self.steps == self.diagonals.shape[1] or bool((self.converged | self.indefinite).all())

    def solutions(self) -> Floats:
        """Return the solutions, (n, outputs, ridges); NaN for a ridge that is too small."""
        used = self.steps + 1
        found = np.einsum("okn,okr->nor", self.vectors[:, :used], self.coordinates[:, :used], optimize=True)
        found[:, :, self.indefinite] = np.nan
        return np.asarray(found)


def start(target: Floats, factorised_ridge: float, ridges: Floats, tolerance: float, max_steps: int) -> LanczosState:
    """Return the state before the first step.

    Parameters
    ----------
    target
        Right-hand sides, (n, outputs).
    factorised_ridge
        The ridge l0 whose factorisation is given to `step`.
    tolerance
        Norm of the residual, relative to that of the right-hand side, at which a solution has converged.
    """
    n, outputs = target.shape
    norms = np.linalg.norm(target, axis=0)
    # Zeros: `solutions` multiplies the vectors after an output's last step by 0, and unwritten memory may hold NaN.
    vectors = np.zeros((outputs, max_steps + 1, n))
    vectors[:, 0] = np.divide(target, norms, out=np.zeros_like(target), where=norms > 0).T
    return LanczosState(
        factorised_ridge,
        ridges,
        norms,
        tolerance,
        vectors,
        diagonals=np.zeros((outputs, max_steps)),
        off_diagonals=np.zeros((outputs, max_steps)),
        coordinates=np.zeros((outputs, max_steps + 1, len(ridges))),
        indefinite=np.zeros(len(ridges), dtype=bool),
        converged=np.repeat(norms[:, None] == 0, len(ridges), axis=1),
    )


def step(state: LanczosState, solve: Solve) -> None:
    """Add one Lanczos vector per output that has not converged, and solve the projected systems."""
    active = np.flatnonzero(~(state.converged | state.indefinite).all(axis=1))
    images = solve(state.vectors[active, state.steps].T).T
    for output, image in zip(active, images, strict=True):
        _extend(state, int(output), np.ascontiguousarray(image))
        for number in np.flatnonzero(~(state.converged[output] | state.indefinite)):
            _project(state, int(output), int(number))
    state.steps += 1


def _extend(state: LanczosState, output: int, image: Floats) -> None:
    """Store `image`, made orthogonal to all Lanczos vectors, as the next one."""
    known = state.vectors[output, : state.steps + 1]
    norm = np.linalg.norm(image)
    # Rounding errors of the first pass are relative to the norm before it, which is larger; the second removes them.
    for _ in range(2):
        parts = known @ image
        image -= parts @ known
        state.diagonals[output, state.steps] += parts[-1]
    rest = float(np.linalg.norm(image))
    if rest <= ROUNDING * norm:  # the vectors span an invariant subspace, in which the solution is exact
        rest, image = 0.0, np.zeros_like(image)
    state.off_diagonals[output, state.steps] = rest
    state.vectors[output, state.steps + 1] = image / rest if rest else image


def _project(state: LanczosState, output: int, number: int) -> None:
    """Solve `(I + (l - l0) T) c = |y| e_1`, and store the coordinates of `x = B V c`."""
    size, shift = state.steps + 1, state.ridges[number] - state.factorised_ridge
    diagonal, off_diagonal = state.diagonals[output, :size], state.off_diagonals[output, :size]
    right = np.zeros((size, 1))
    right[0] = state.norms[output]
    # LAPACK requires at least one off-diagonal element, which it does not read if there is only one row.
    _, _, found, failed_minor = lapack.dptsv(1.0 + shift * diagonal, shift * off_diagonal[: max(size - 1, 1)], right)
    if failed_minor:
        state.indefinite[number] = True
        return
    c = found[:, 0]
    image = diagonal * c
    image[:-1] += off_diagonal[:-1] * c[1:]
    image[1:] += off_diagonal[:-1] * c[:-1]
    state.coordinates[output, :size, number] = image
    state.coordinates[output, size, number] = rest = off_diagonal[-1] * c[-1]
    state.converged[output, number] = abs(shift * rest) <= state.tolerance * state.norms[output]
