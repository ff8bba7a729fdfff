"""Fit support vector machines along a path of `C` from rows of the kernel, with bounded memory."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_rows
from kernel_pipeline.tasks.labels import standardize_labels
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.kernel_rows import KernelRows
from kernel_pipeline.tasks.learners.svm_certificate import require_certified
from kernel_pipeline.tasks.learners.svm_machines import fit_svm
from kernel_pipeline.tasks.learners.svm_solver import ROWS_AT_A_TIME, row_parts
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments

FLOAT_BYTES = 8
# Shares of the memory: for the cache of rows, and for the rows that are computed at a time. The kernels of working sets
# need half as much as the cache, and the rest is for vectors.
CACHE_SHARE, ROWS_SHARE = 0.5, 0.03
# Number of rows of the kernel that fit into the minimum memory.
MIN_ROWS = 16


@dataclass(frozen=True)
class RowMemory:
    """Division of the memory of a fit by working sets.

    It affects the last digits of results, so it is computed from sizes only, and is the same on all hosts.
    """

    cache_bytes: int
    rows: int
    """Number of rows that are computed at a time."""

    @classmethod
    def of(cls, max_bytes: int, samples: int) -> "RowMemory | None":
        """Divide the memory of a fit; None if it is less than `min_bytes(samples)`.

        >>> RowMemory.of(512 << 20, 12_000)
        RowMemory(cache_bytes=268435456, rows=167)
        >>> RowMemory.of(1 << 20, 12_000) is None
        True
        """
        if max_bytes < cls.min_bytes(samples):
            return None
        rows = max(1, int(ROWS_SHARE * max_bytes) // (FLOAT_BYTES * samples))
        return cls(int(CACHE_SHARE * max_bytes), min(rows, ROWS_AT_A_TIME))

    @staticmethod
    def min_bytes(samples: int) -> int:
        """Return the minimum memory that a fit needs, in bytes."""
        return MIN_ROWS * FLOAT_BYTES * samples


def fit_svm_rows(
    kernel: KernelRows, target: Floats, values: Sequence[float], class_weight: str | None, memory: RowMemory
) -> FittedPath:
    """Fit a support vector machine for every value of `C`, by working sets.

    Parameters
    ----------
    kernel
        Kernel of the training samples. It need not be centered.
    target, values, class_weight
        As for `fit_svm_path`.

    Returns
    -------
    FittedPath
        Fits whose certificates are relative duality gaps, the largest one of all pairs of classes. The predictions of
        fits whose gap is above `MAX_GAP` are NaN.

    Raises
    ------
    NotSolvedError
        If the gap of every value is above `MAX_GAP`.
    """
    machines = fit_svm(kernel, target, values, class_weight, cache_bytes=memory.cache_bytes, rows_at_a_time=memory.rows)
    require_certified(machines.gaps)
    fitted = machines.fitted
    if fitted is None:
        blocks = (kernel.rows(_indices(part)) for part in row_parts(len(target), memory.rows))
        fitted = np.concatenate([machines.predict(block) for block in blocks])
    return FittedPath(machines.certified(fitted), machines.predict, machines.gaps)


def row_moments(kernel: KernelRows, labels: Floats, rows_at_a_time: int) -> tuple[KernelMoments, Floats]:
    """Compute the moments of a kernel for the bounds of the paper's theorems, in two passes over its rows.

    Parameters
    ----------
    kernel
        Kernel of the training samples, which is not centered.
    labels
        Labels of the training samples, (n,).

    Returns
    -------
    moments
        Moments of the centered kernel, without predictions for test samples.
    offsets
        Deviations of the means of the rows from their mean, for `center_rows`.
    """
    parts = [_indices(part) for part in row_parts(len(labels), rows_at_a_time)]
    means = np.concatenate([kernel.rows(part).mean(axis=1) for part in parts])
    offsets = means - means.mean()
    scaled = standardize_labels(labels)
    squares, diagonal, images = np.empty((3, len(labels)))
    for part in parts:
        rows = kernel.rows(part)
        center_rows(rows, offsets)
        squares[part] = np.einsum("ij,ij->i", rows, rows)
        diagonal[part] = rows[np.arange(len(part)), part]
        images[part] = rows @ scaled
    return KernelMoments.of_rows(squares, diagonal, images), offsets


def _indices(part: slice) -> Integers:
    return np.arange(part.start, part.stop)
