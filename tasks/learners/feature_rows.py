"""Compute rows of a combined kernel from the features, or from precomputed base kernels, when they are needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Blocks, GramFamily, Samples, prepare_families
from kernel_pipeline.tasks.statistics.sums import block_side


@dataclass(frozen=True)
class FeatureRows:
    """Rows of `sum_k weights_k E_k`; the families compute `E_k = K_k - shift_k` of their base kernels (`GramFamily`).

    They are not centered: a support vector machine with an intercept has the same decision values without centering,
    since its coefficients sum to zero.

    Parameters
    ----------
    families
        Families of the base kernels, as returned by `fitted_families` (`tasks.kernels.fitted_families`).
    samples
        All samples of the dataset.
    weights
        Weights of the base kernels, divided by their traces, (p,).
    row_samples, column_samples
        The samples of the rows and of the columns. For a fit, both are the training samples; for predictions, the rows
        are held-out samples and the columns are the training samples.
    """

    families: tuple[GramFamily, ...]
    samples: Samples
    weights: Floats
    row_samples: Integers
    column_samples: Integers

    @property
    def n_columns(self) -> int:
        """Return the number of columns."""
        return len(self.column_samples)

    def only(self, samples: Integers) -> "FeatureRows":
        """Return the kernel of some of the training samples."""
        return replace(self, row_samples=self.row_samples[samples], column_samples=self.column_samples[samples])

    def rows(self, indices: Integers) -> Floats:
        """Compute rows, (number of indices, columns)."""
        chosen = np.concatenate([self.row_samples[indices], self.column_samples])
        blocks = None if self.samples.blocks is None else _gathered_blocks(self.samples.blocks, chosen)
        fill = prepare_families(self.families, Samples(self.samples.features[chosen], blocks=blocks))
        p, height = len(self.weights), len(indices)
        found = np.empty((height, self.n_columns))
        side = block_side(p)
        for rows in _spans(height, side):
            for columns in _spans(self.n_columns, side):
                block = np.empty((p, rows.stop - rows.start, columns.stop - columns.start))
                fill(rows, slice(height + columns.start, height + columns.stop), block)
                found[rows, columns] = (self.weights @ block.reshape(p, -1)).reshape(block.shape[1:])
        return found


def _gathered_blocks(blocks: Blocks, chosen: Integers) -> Blocks:
    """Return a function that reads precomputed kernels of chosen samples by runs of consecutive samples."""

    def read(kernels: slice, rows: slice, columns: slice) -> Floats:
        column_runs = _runs(chosen[columns])
        parts = [
            np.concatenate([blocks(kernels, row_run, column_run) for column_run in column_runs], axis=2)
            for row_run in _runs(chosen[rows])
        ]
        return np.concatenate(parts, axis=1)

    return read


def _runs(indices: Integers) -> list[slice]:
    """Split indices into runs of consecutive ones.

    >>> _runs(np.array([4, 5, 6, 1, 2]))
    [slice(4, 7, None), slice(1, 3, None)]
    """
    pieces = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1)
    return [slice(int(piece[0]), int(piece[-1]) + 1) for piece in pieces]


def _spans(count: int, side: int) -> Iterator[slice]:
    for start in range(0, count, side):
        yield slice(start, min(start + side, count))
