"""Fit support vector machines along a path of `C`, with scikit-learn's SVC on a precomputed kernel."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.errors import NotConvergedError
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.one_against_one import Pair, class_pairs, sample_weights, vote
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP, relative_duality_gap, require_certified

if TYPE_CHECKING:  # importing it takes two seconds
    from sklearn.svm import SVC

# libsvm needs about ten iterations per sample; this limit only stops fits that would not end.
MAX_ITERATIONS = 10_000_000
CACHE_MEGABYTES = 200
# Tolerances of libsvm: its default, and a smaller one for fits that the default does not certify.
TOLERANCES = (1e-3, 1e-4)


def fit_svm_path(
    kernel: Floats, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> FittedPath:
    """Fit all values of `C`.

    More than two classes are separated one against one, with ties and the order of classes as in scikit-learn's SVC.

    Parameters
    ----------
    kernel
        Kernel of the training samples, (n, n).
    target
        Labels -1 and +1 of the training samples, (n, 1), both of which must occur; or one column of zeros and ones per
        class, (n, C), all of which must occur.
    class_weight
        "balanced" multiplies `C` of each class by `n / (n_classes * n_samples_of_class)`, as in scikit-learn.

    Returns
    -------
    FittedPath
        Fits whose certificates are relative duality gaps, the largest one of all pairs of classes. Predictions are
        decision values of two classes, (q, 1, number of values); of more, 1 in the column of the predicted class and 0
        elsewhere, (q, C, number of values).

    Raises
    ------
    NotConvergedError
        If libsvm reaches its maximum number of iterations.
    NotSolvedError
        If the gap of every value is above `MAX_GAP`.
    """
    fitted, decisions = fit_pair_machines(kernel, target, values, class_weight)
    return FittedPath(fitted.evaluate(decisions), fitted.predict, fitted.gaps)


@dataclass(frozen=True)
class PairMachines:
    """Fitted machines of all values of `C`, which separate all pairs of classes; they can be pickled."""

    machines: tuple[SVC, ...]
    columns: int
    """Number of label columns: 1 for two classes."""
    gaps: Floats
    """Relative duality gap of each value, the largest one of all pairs of classes."""

    def predict(self, rows: Floats) -> Floats:
        """Return the predictions of `fit_svm_path`, given rows of the kernel, (q, n)."""
        return self.evaluate([self.decisions(rows, place) for place in range(len(self.machines))])

    def decisions(self, rows: Floats, place: int) -> Floats:
        """Return the decision values of all pairs of classes for one value of `C`, (q, pairs)."""
        require_finite("the kernel", rows)
        return _decisions(self.machines[place], np.ascontiguousarray(rows))

    def coefficients(self, place: int, samples: int) -> tuple[Floats, Floats]:
        """Return the coefficients of all training samples for one value of `C`, (n, pairs), and intercepts, (pairs,).

        The decision values are `rows @ coefficients + intercepts`.
        """
        machine = self.machines[place]
        found = np.column_stack(list(_pair_coefficients(machine, samples)))
        return found, np.asarray(machine.intercept_, dtype=np.float64)

    def evaluate(self, decisions: Sequence[Floats]) -> Floats:
        """Return predictions, given the decision values of all pairs for each value of `C`; NaN if not certified."""
        stacked = np.stack(decisions, axis=2)
        predictions = stacked if self.columns == 1 else vote(stacked, self.columns)
        predictions[:, :, ~(self.gaps <= MAX_GAP)] = np.nan
        return predictions


def fit_pair_machines(
    kernel: Floats, target: Floats, values: Sequence[float], class_weight: str | None = None
) -> tuple[PairMachines, list[Floats]]:
    """Fit all values of `C`, and return the machines and the decision values of the training samples.

    The arguments and errors are those of `fit_svm_path`.
    """
    require_finite("the kernel", kernel)
    pairs, weights = class_pairs(target), sample_weights(target, class_weight)
    machines, decisions, gaps = [], [], []
    for value in values:
        for tolerance in TOLERANCES:
            machine = _fit(kernel, target, value, class_weight, tolerance)
            found = _decisions(machine, kernel)
            gap = _largest_gap(machine, found, pairs, value * weights)
            if gap <= MAX_GAP:
                break
        machines.append(machine)
        decisions.append(found)
        gaps.append(gap)
    require_certified(np.array(gaps))
    return PairMachines(tuple(machines), target.shape[1], np.array(gaps)), decisions


def _fit(kernel: Floats, target: Floats, value: float, class_weight: str | None, tolerance: float) -> SVC:
    # Importing scikit-learn takes two seconds, and a regression does not need it.
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
    with _unchecked(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `fit_status_` is checked below
        machine.fit(kernel, classes)
    if machine.fit_status_ != 0:
        raise NotConvergedError(f"the SVM with C = {value:g} did not converge in {MAX_ITERATIONS:,} iterations")
    return machine


def _unchecked() -> AbstractContextManager[None]:
    """Skip the checks of scikit-learn, which would take as long as a fit for every value."""
    import sklearn

    found: AbstractContextManager[None] = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    return found


def _decisions(machine: SVC, rows: Floats) -> Floats:
    """Return the decision values of all pairs of classes, (q, pairs)."""
    with _unchecked():
        return np.asarray(machine.decision_function(rows)).reshape(len(rows), -1)


def _pair_coefficients(machine: SVC, samples: int) -> Iterator[Floats]:
    """Yield the coefficients of all training samples, (n,), for each pair of classes."""
    classes = len(machine.classes_)
    support_classes = np.repeat(np.arange(classes), machine.n_support_)
    for first, second in combinations(range(classes), 2):
        found = np.zeros(samples)
        # libsvm stores the coefficients of a class against all others, which lack the class itself.
        for own, other in ((first, second - 1), (second, first)):
            chosen = support_classes == own
            found[machine.support_[chosen]] = machine.dual_coef_[other, chosen]
        yield found


def _largest_gap(machine: SVC, decisions: Floats, pairs: Sequence[Pair], bounds: Floats) -> float:
    """Return the largest relative duality gap of all pairs of classes; NaN if one is not defined."""
    largest = max(len(pair.samples) for pair in pairs)
    # One row per pair, padded with samples whose bound is 0: hundreds of small arrays would take longer than the fits.
    images, alpha, limits = np.zeros((3, len(pairs), largest))
    labels = np.ones((len(pairs), largest))
    for number, (pair, coefficients) in enumerate(zip(pairs, _pair_coefficients(machine, len(bounds)), strict=True)):
        size = len(pair.samples)
        images[number, :size] = decisions[pair.samples, number] - machine.intercept_[number]
        labels[number, :size], alpha[number, :size] = pair.labels, np.abs(coefficients[pair.samples])
        limits[number, :size] = bounds[pair.samples]
    return float(np.max(relative_duality_gap(images, labels, alpha, limits)))
