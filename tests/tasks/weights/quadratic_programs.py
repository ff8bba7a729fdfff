"""Quadratic programs of many kinds, and their objective."""

import numpy as np

from tests.tasks import dense
from tests.tasks.dense import Floats

Program = tuple[Floats, Floats]


def well_conditioned(seed: int, p: int | None = None) -> Program:
    """Return a random M, and an a of either sign with at least one positive entry."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 13)) if p is None else p
    root = rng.normal(size=(2 * p + 5, p))
    a = rng.normal(size=p)
    a[int(rng.integers(p))] = 1.0
    return root.T @ root, a * 10.0 ** rng.uniform(-3, 3)


def gaussian_family(seed: int, p: int | None = None, scaled: bool = True) -> Program:
    """Return M, nearly singular, and a of Gaussians whose bandwidths double, unscaled or of trace one."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(7, 21)) if p is None else p
    m, d = int(rng.integers(12, 50)), int(rng.integers(1, 6))
    features = 10.0 ** rng.uniform(-0.5, 0.5) * rng.normal(size=(m, d))
    labels = rng.normal(size=m)
    if seed % 3 == 0:
        labels = np.sign(labels)
    if seed % 3 == 1:
        labels = np.sin(features.sum(axis=1)) + 0.1 * labels
    lo = int(rng.integers(-12, -5))
    statistics = dense.dense_statistics(dense.gaussians(features, (lo, lo + p - 1)), labels, np.arange(m))
    if scaled:
        statistics = statistics.trace_one()
    return statistics.M, statistics.a


def with_duplicates(seed: int) -> Program:
    M, a = gaussian_family(seed) if seed % 2 else well_conditioned(seed)
    rng = np.random.default_rng(seed)
    order = np.concatenate([np.arange(len(a)), rng.integers(0, len(a), size=3)])
    return M[np.ix_(order, order)], a[order]


def with_a_constant_kernel(seed: int) -> Program:
    M, a = gaussian_family(seed) if seed % 2 else well_conditioned(seed)
    dead = int(np.random.default_rng(seed).integers(len(a)))
    for array in (M, M.T, a):
        array[dead] = 0.0
    if not (a > 0).any():
        a[:] = -np.minimum(a, 0.0)
    return M, a


PROGRAMS = {
    "well conditioned": well_conditioned,
    "gaussian family": gaussian_family,
    "duplicates": with_duplicates,
    "constant kernel": with_a_constant_kernel,
}


def objective(M: Floats, a: Floats, v: Floats) -> float:
    return float(v @ M @ v - 2.0 * v @ a)
