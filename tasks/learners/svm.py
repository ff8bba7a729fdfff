"""Fit support vector machines along a path of `C`, with scikit-learn's SVC on a precomputed kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers, require_finite
from kernel_pipeline.tasks.errors import NotConvergedError
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.one_against_one import Pair, class_pairs, sample_weights
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP, relative_duality_gap, require_certified
from kernel_pipeline.tasks.learners.svm_machines import SvmMachines
from kernel_pipeline.tasks.progress import report_progress

if TYPE_CHECKING:  # importing it takes two seconds
    from sklearn.svm import SVC

# libsvm needs about ten iterations per sample; this limit only stops fits that would not end.
MAX_ITERATIONS = 10_000_000
CACHE_MEGABYTES = 200
# Tolerances of libsvm: its default, and a smaller one for fits that the default does not certify.
TOLERANCES = (1e-3, 1e-4)
# Smallest ratio of the number of samples to the number of machines whose gaps are computed together.
COLUMNS_RATIO = 20


def fit_svm_path(
    kernel: Floats, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> FittedPath:
    """Fit a support vector machine for every value of `C`.

    The arguments and errors are those of `fit_pair_machines`.

    Returns
    -------
    FittedPath
        Fits whose certificates are relative duality gaps, the largest one of all pairs of classes. Predictions are
        those of `SvmMachines.predict`.
    """
    machines = fit_pair_machines(kernel, target, values, class_weight)
    return FittedPath(machines.predict(kernel), machines.predict, machines.gaps)


def fit_pair_machines(
    kernel: Floats, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> SvmMachines:
    """Fit the machines of all pairs of classes and all values of `C`.

    More than two classes are separated one against one, with ties and the order of classes as in scikit-learn's SVC.

    Parameters
    ----------
    kernel
        Kernel of the training samples, (n, n).
    target
        Labels -1 and +1 of the training samples, (n, 1), both of which must occur; or one column of zeros and ones per
        class, (n, classes), all of which must occur.
    class_weight
        "balanced" multiplies `C` of each class by `n / (n_classes * n_samples_of_class)`, as in scikit-learn.

    Raises
    ------
    NotConvergedError
        If libsvm reaches its maximum number of iterations.
    NotSolvedError
        If the gap of every value is above `MAX_GAP`.
    """
    require_finite("the kernel", kernel)
    pairs, weights, costs = _PairRows.of(class_pairs(target)), sample_weights(target, class_weight), np.array(values)
    coefficients, intercepts = np.empty((len(kernel), pairs.count, len(costs))), np.empty((pairs.count, len(costs)))
    gaps = np.full(len(costs), np.nan)
    for tolerance in TOLERANCES:
        for batch in _batches(np.flatnonzero(~(gaps <= MAX_GAP)), len(kernel) // pairs.count):
            for number in batch:
                report_progress(f"value {number + 1} of {len(costs)}, tolerance {tolerance:g}")
                machine = _fit(kernel, target, values[number], class_weight, tolerance)
                coefficients[:, :, number] = _pair_coefficients(machine, len(kernel))
                intercepts[:, number] = machine.intercept_
            found = coefficients[:, :, batch]
            images = (kernel @ found.reshape(len(kernel), -1)).reshape(found.shape)
            gaps[batch] = pairs.largest_gaps(images, found, np.multiply.outer(costs[batch], weights))
    require_certified(gaps)
    return SvmMachines(coefficients, intercepts, gaps, target.shape[1])


def _batches(numbers: Integers, columns: int) -> Iterator[Integers]:
    """Divide the indices of values of `C` into batches whose arrays are small compared with the kernel.

    The gaps of a batch are computed together: for small kernels, computing each separately would take as long as the
    fits.
    """
    size = max(1, columns // COLUMNS_RATIO)
    return (numbers[start : start + size] for start in range(0, len(numbers), size))


def _fit(kernel: Floats, target: Floats, value: float, class_weight: str | None, tolerance: float) -> SVC:
    # Importing scikit-learn takes two seconds, and a regression does not need it.
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    classes = target.argmax(axis=1) if target.shape[1] > 1 else target[:, 0]
    machine = SVC(
        C=value,
        kernel="precomputed",
        class_weight=class_weight,
        cache_size=CACHE_MEGABYTES,
        max_iter=MAX_ITERATIONS,
        tol=tolerance,
        decision_function_shape="ovo",
    )
    # The checks of scikit-learn would take as long as a small fit.
    unchecked = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with unchecked, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `fit_status_` is checked below
        machine.fit(kernel, classes)
    if machine.fit_status_ != 0:
        raise NotConvergedError(f"the SVM with C = {value:g} did not converge in {MAX_ITERATIONS:,} iterations")
    return machine


def _pair_coefficients(machine: SVC, samples: int) -> Floats:
    """Return the coefficients of all training samples for each pair of classes, (n, pairs)."""
    ends = np.cumsum(machine.n_support_)
    supports = [slice(end - count, end) for end, count in zip(ends, machine.n_support_, strict=True)]
    pairs = list(combinations(range(len(supports)), 2))
    found = np.zeros((samples, len(pairs)))
    for number, (first, second) in enumerate(pairs):
        # For each class, libsvm stores one row of coefficients per other class; since there is no row for the class
        # itself, those of later classes move up by one.
        for own, other in ((supports[first], second - 1), (supports[second], first)):
            found[machine.support_[own], number] = machine.dual_coef_[other, own]
    return found


@dataclass(frozen=True)
class _PairRows:
    """The samples of all pairs of classes as rows of equal length, padded with entries that are ignored.

    Computing the gaps of hundreds of pairs separately would take longer than the fits.
    """

    samples: Integers
    """(pairs, largest number of samples)"""
    labels: Floats
    is_sample: Booleans
    """Whether an entry is a sample of the pair."""

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> _PairRows:
        shape = len(pairs), max(len(pair.samples) for pair in pairs)
        rows = cls(np.zeros(shape, dtype=np.int64), np.ones(shape), np.zeros(shape, dtype=bool))
        for number, pair in enumerate(pairs):
            own = number, slice(len(pair.samples))
            rows.samples[own], rows.labels[own], rows.is_sample[own] = pair.samples, pair.labels, True
        return rows

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.samples)

    def largest_gaps(self, images: Floats, coefficients: Floats, bounds: Floats) -> Floats:
        """Return the largest relative duality gap of all pairs, (values,); NaN if one is not defined.

        Parameters
        ----------
        images
            Products of the kernel and the coefficients, (n, pairs, values).
        coefficients
            (n, pairs, values)
        bounds
            `C` of each sample, (values, n).
        """
        numbers = np.arange(self.count)[:, None]
        images, alpha = (
            np.where(self.is_sample, np.moveaxis(columns[self.samples, numbers], 2, 0), 0.0)
            for columns in (images, np.abs(coefficients))
        )
        limits = np.where(self.is_sample, bounds[:, self.samples], 0.0)
        labels = np.broadcast_to(self.labels, images.shape)
        return np.asarray(relative_duality_gap(images, labels, alpha, limits).max(axis=1))
