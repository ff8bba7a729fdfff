"""Learn the weights of base kernels on training samples, and evaluate the combined kernel of any samples."""

from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_rows, center_square, positive_eigenvectors
from kernel_pipeline.tasks.kernels.family import Fill, GramFamily, Samples, kernel_names, prepare_families
from kernel_pipeline.tasks.labels import center_labels
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment, statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile, compute_tile
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from kernel_pipeline.tasks.weights.method import WeightRule

# Size of the blocks of all base kernels that are held in memory at once.
BLOCK_BYTES = 32 << 20
# Number of new samples whose kernels are computed at once.
ROWS_PER_BLOCK = 1024


@dataclass(frozen=True)
class KernelData:
    """The features and precomputed matrices from which the base kernels of samples are computed."""

    features: Floats
    """Features of the samples, (n, d)."""
    numbers: Integers
    """Row and column of each sample in the precomputed matrices, (n,)."""
    matrices: tuple[Floats, ...] = ()
    """Precomputed matrices, which may have rows and columns of other samples as well."""

    def __len__(self) -> int:
        return len(self.features)

    def only(self, chosen: Integers | slice) -> "KernelData":
        """Return the chosen samples."""
        return replace(self, features=self.features[chosen], numbers=self.numbers[chosen])

    def followed_by(self, other: "KernelData") -> "KernelData":
        """Return these samples, followed by others with the same matrices."""
        return replace(
            self,
            features=np.concatenate([self.features, other.features]),
            numbers=np.concatenate([self.numbers, other.numbers]),
        )

    def samples(self, fitted: int | None = None) -> Samples:
        """Return the samples for families, whose parameters are fitted to the first `fitted` samples, or to all."""
        return Samples(self.features, None if fitted is None else np.arange(fitted), self._blocks)

    def _blocks(self, kernels: slice, rows: slice, columns: slice) -> Floats:
        places = np.ix_(self.numbers[rows], self.numbers[columns])
        return np.stack([matrix[places] for matrix in self.matrices[kernels]])


@dataclass(frozen=True)
class LearnedKernel:
    """A combined kernel `K_mu`, centered on its training samples."""

    families: tuple[GramFamily, ...]
    data: KernelData
    """The training samples."""
    weights: Floats
    """Weights of the trace-one kernels, (p,)."""
    certificate: float
    alignment: float
    """Centered alignment with the labels on the training samples; NaN if it is not defined."""
    factors: Floats
    """Weights of the unscaled kernels, (p,): the weights divided by the traces."""
    offsets: Floats
    """Offsets of `center_rows`, (n,)."""
    positive: Floats | None = None
    """Eigenvectors with positive eigenvalues, if weights are negative; the kernel is projected onto these."""

    def names(self) -> tuple[str, ...]:
        """Return the names of the base kernels."""
        return kernel_names(self.families)

    def rows(self, data: KernelData) -> Floats:
        """Return the kernel of new samples against the training samples, centered with the training means, (q, n)."""
        starts = range(0, len(data), ROWS_PER_BLOCK)
        return np.concatenate([self._rows(data.only(slice(start, start + ROWS_PER_BLOCK))) for start in starts])

    def _rows(self, data: KernelData) -> Floats:
        n, p = len(self.data), len(self.factors)
        samples = self.data.followed_by(data).samples(fitted=n)
        fill, found = prepare_families(self.families, samples), np.empty((len(data), n))
        height = max(1, BLOCK_BYTES // (8 * p * len(data)))
        for start in range(0, n, height):
            training = slice(start, min(start + height, n))
            block = np.empty((p, training.stop - start, len(data)))
            fill(training, slice(n, n + len(data)), block)
            found[:, training] = _combined(self.factors, block).T
        center_rows(found, self.offsets)
        return found if self.positive is None else np.asarray((found @ self.positive) @ self.positive.T)


def kernel_statistics(families: tuple[GramFamily, ...], data: KernelData, labels: Floats) -> Statistics:
    """Compute `M`, `a` and the traces of the base kernels, which are not scaled to trace one.

    Parameters
    ----------
    labels
        Block of label columns, (n, columns).
    """
    return _statistics(prepare_families(families, data.samples()), len(kernel_names(families)), labels)


def learn_kernel(
    families: tuple[GramFamily, ...], data: KernelData, labels: Floats, rule: WeightRule
) -> tuple[LearnedKernel, Floats]:
    """Learn the weights of the base kernels, and combine the kernels.

    Returns
    -------
    learned, square
        The learned kernel, and its values on the training samples, (n, n).

    Raises
    ------
    NoResultError
        If the method does not determine weights for these kernels.
    """
    fill = prepare_families(families, data.samples())
    found = _statistics(fill, len(kernel_names(families)), labels)
    scaled = found.scaled(found.trace)
    weights, certificate = rule.weights(GramStatistics(scaled))
    factors = np.divide(weights, found.trace, out=np.zeros_like(weights), where=found.trace > 0)
    square = _square(fill, factors, len(data))
    offsets = center_square(square)
    learned = LearnedKernel(families, data, weights, certificate, alignment(scaled, weights), factors, offsets)
    if not (weights < 0).any():
        return learned, square
    positive = positive_eigenvectors(square)
    square = (square @ positive) @ positive.T
    return replace(learned, positive=positive, alignment=alignment_with_labels(square, labels).biased), square


def _statistics(fill: Fill, kernels: int, labels: Floats) -> Statistics:
    labels = center_labels(labels)  # as in a sweep, for precision: centered quantities do not change
    n, columns = labels.shape
    sums, bounds, whole = Sums.zeros(1, kernels, columns, n), np.array([0, n]), slice(0, n)
    add_tile(sums, fill, labels, bounds, (whole, whole))
    return statistics(sums, labels, range(columns), [0], bounds)


def _square(fill: Fill, factors: Floats, n: int) -> Floats:
    """Return the combined kernel of the training samples, exactly symmetric."""
    square, bounds = np.empty((n, n)), np.array([0, n])
    side = max(16, int((BLOCK_BYTES / (8 * len(factors))) ** 0.5))
    spans = [slice(start, min(start + side, n)) for start in range(0, n, side)]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            values = np.empty((len(factors), rows.stop - rows.start, columns.stop - columns.start))
            compute_tile(fill, bounds, (rows, columns), values)
            block = _combined(factors, values)
            square[rows, columns] = (block + block.T) / 2.0 if rows == columns else block
            square[columns, rows] = square[rows, columns].T
    return square


def _combined(factors: Floats, values: Floats) -> Floats:
    """Return `sum_k factors_k values_k`."""
    return np.asarray((factors @ values.reshape(len(factors), -1)).reshape(values.shape[1:]))
