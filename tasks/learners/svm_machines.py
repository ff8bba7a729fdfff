"""Fit support vector machines of two or several classes along a path of `C`, from rows of the kernel."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.learners.kernel_rows import CachedRows, KernelRows
from kernel_pipeline.tasks.learners.one_against_one import class_pairs, sample_weights, vote
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.learners.svm_solver import GAP, ROWS_AT_A_TIME, SvmProblem, fit_machines
from kernel_pipeline.tasks.learners.working_sets import MAX_WORKING_SET
from kernel_pipeline.tasks.progress import progress_part

# Memory per pair of samples of a working set: the kernel and its centered copy. libsvm's cache has a limit of its own.
BYTES_PER_PAIR = 16


@dataclass(frozen=True)
class SvmMachines:
    """Fitted support vector machines ("machines" for short) of all pairs of classes and all values of C."""

    coefficients: Floats
    """Coefficients of the training samples, (n, pairs, values)."""
    intercepts: Floats
    """(pairs, values)"""
    gaps: Floats
    """Relative duality gap of each value, the largest of all pairs, (values,); NaN if the kernel is indefinite."""
    label_columns: int
    """Number of label columns: 1 for two classes, else the number of classes."""
    fitted: Floats | None = None
    """Predictions of the training samples of two classes, (n, 1, values)."""

    def decisions(self, rows: Floats) -> Floats:
        """Return the decision values for all pairs of classes and all values of C, (q, pairs, values).

        Parameters
        ----------
        rows
            Kernel of the samples against the training samples, (q, n).
        """
        require_finite("the kernel", rows)
        n, pairs, values = self.coefficients.shape
        return (rows @ self.coefficients.reshape(n, -1)).reshape(-1, pairs, values) + self.intercepts

    def predict(self, rows: Floats) -> Floats:
        """Return the decision values of samples, or their classes if there are more than two.

        Parameters
        ----------
        rows
            Kernel of the samples against the training samples, (q, n).

        Returns
        -------
        (q, label columns, values)
            For two classes, decision values; for more, 1 in the column of the predicted class and 0 elsewhere. NaN for
            values whose gap is above `MAX_GAP`.
        """
        decisions = self.decisions(rows)
        return self.certified(decisions if self.label_columns == 1 else vote(decisions, self.label_columns))

    def certified(self, predictions: Floats) -> Floats:
        """Set the predictions, (q, columns, values), of values that are not certified to NaN, and return them."""
        predictions[:, :, ~(self.gaps <= MAX_GAP)] = np.nan
        return predictions


def largest_working_set(cache_bytes: int) -> int:
    """Return the largest size of a working set whose kernel needs at most half as many bytes as the cache.

    >>> largest_working_set(400 << 20), largest_working_set(8 << 30)
    (3620, 8000)
    """
    return min(MAX_WORKING_SET, int((cache_bytes / 2 / BYTES_PER_PAIR) ** 0.5))


def fit_svm(
    kernel: KernelRows,
    target: Floats,
    costs: Sequence[float],
    class_weight: str | None = None,
    cache_bytes: int | None = None,
    goal: float = GAP,
    rows_at_a_time: int = ROWS_AT_A_TIME,
) -> SvmMachines:
    """Fit all machines by working sets.

    Parameters
    ----------
    kernel
        Kernel of the training samples.
    target
        Labels -1 and +1 of the training samples, (n, 1), or one column of zeros and ones per class, (n, classes).
    costs
        Values of C, from the smallest to the largest.
    class_weight
        "balanced" multiplies `C` of each class by `n / (n_classes * n_samples_of_class)`, as in scikit-learn.
    cache_bytes
        Size of the cache of computed rows; None for a kernel in memory, whose rows need no cache.
    goal
        Relative duality gap at which the solver stops.
    rows_at_a_time
        Number of rows that are held besides those of the cache.
    """
    weights, pairs = sample_weights(target, class_weight), class_pairs(target)
    coefficients = np.zeros((len(target), len(pairs), len(costs)))
    intercepts, gaps = np.empty((2, len(pairs), len(costs)))
    fitted = None
    for number, pair in enumerate(pairs):
        rows = kernel.only(pair.samples) if len(pairs) > 1 else kernel
        if cache_bytes is None:
            problem = SvmProblem(rows, pair.labels, weights[pair.samples], MAX_WORKING_SET)
        else:
            cached = CachedRows(rows, cache_bytes)
            largest = min(cached.capacity, largest_working_set(cache_bytes))
            problem = SvmProblem(cached, pair.labels, weights[pair.samples], max(2, largest), rows_at_a_time)
        with progress_part(f"pair {number + 1} of {len(pairs)}") if len(pairs) > 1 else nullcontext():
            machines = fit_machines(problem, costs, goal)
        coefficients[pair.samples, number] = np.column_stack([machine.coefficients for machine in machines])
        intercepts[number] = [machine.intercept for machine in machines]
        gaps[number] = [machine.gap for machine in machines]
        if target.shape[1] == 1:
            fitted = np.column_stack([machine.fitted for machine in machines])[:, None]
    return SvmMachines(coefficients, intercepts, gaps.max(axis=0), target.shape[1], fitted)
