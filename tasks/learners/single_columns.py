"""Fit many rank-one kernels separately along a regularisation path: `f(x) = slope v(x) + intercept`.

Ridge regression on a centered column of norm one has a closed form, `slope = v'y / (1 + ridge)`. A support vector
machine on one column is a small problem; see `single_column_svm`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL
from kernel_pipeline.tasks.learners.one_against_one import class_pairs, sample_weights, vote
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path
from kernel_pipeline.tasks.learners.single_column_svm import GroupedColumn, fit_single_columns
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.metrics import chosen_metric
from kernel_pipeline.tasks.progress import report_progress

# Maximum size of the predictions of the kernels that are fitted together.
PREDICTION_BYTES = 32 << 20
# Decision values up to this size are set to 0. A column value halfway between those of two classes often has the
# decision value 0, and rounding must not decide its class.
ZERO_DECISION = 1e-9


@dataclass(frozen=True)
class ColumnFits:
    """Fits of several columns, for all values of a path and all label columns, or pairs of classes."""

    slopes: Floats
    """(label columns or pairs, kernels, values)"""
    intercepts: Floats
    certificates: Floats
    """(kernels, values): residuals of ridge fits, or relative duality gaps."""
    certified: Booleans
    """(kernels, values)"""
    is_decision: bool = False
    """Whether predictions are decision values of support vector machines."""
    label_columns: int = 1
    """Number of label columns of a classification: 1 for two classes, else the number of classes."""

    def predict(self, columns: Floats) -> Floats:
        """Return predictions of some samples, NaN for fits that are not certified.

        Parameters
        ----------
        columns
            Values of the columns, (q, kernels).

        Returns
        -------
        (q, label columns, kernels x values)
        """
        parts = self.slopes * columns[:, None, :, None] + self.intercepts
        predictions = parts.reshape(*parts.shape[:2], -1)
        if self.is_decision:
            predictions[np.abs(predictions) <= ZERO_DECISION] = 0.0
        if self.label_columns > 1:
            predictions = vote(predictions, self.label_columns)
        predictions[:, :, ~self.certified.ravel()] = np.nan
        return predictions


def single_column_errors(
    problem: str,
    kernels: RankOneKernels,
    split: Split,
    values: Sequence[float],
    class_weight: str | None = None,
    metric: str = "",
) -> tuple[Floats, Floats]:
    """Fit each kernel along the path; return validation and test errors at the best values, (p,) each.

    Parameters
    ----------
    kernels
        Kernels on the training samples of the split, with `split.held_out` as held-out samples; none is constant.
    values, class_weight, metric
        As in `FitOptions`.

    Returns
    -------
    validation, test
        NaN for a kernel without a certified fit that has a finite validation error.
    """
    error, target = chosen_metric(problem, metric).error, split.target[split.train]
    found = np.full((2, kernels.count), np.nan)
    for chosen in _parts(kernels.count, len(split.held_out) * target.shape[1] * len(values)):
        report_progress(f"kernels {chosen[0] + 1} to {chosen[-1] + 1} of {kernels.count}")
        part = kernels.only(chosen)
        predictions = _fit(problem, part, target, values, class_weight).predict(_held_out(part))
        parts = np.split(predictions, [len(split.validation)])
        validation, test = (
            error(predicted, split.target[samples]).reshape(len(chosen), -1)
            for predicted, samples in zip(parts, (split.validation, split.test), strict=True)
        )
        finite = np.where(np.isfinite(validation), validation, np.inf)
        best = finite.argmin(axis=1)
        rows = np.arange(len(chosen))
        solved = np.isfinite(finite[rows, best])
        found[:, chosen[solved]] = [errors[rows, best][solved] for errors in (validation, test)]
    return found[0], found[1]


def fit_single_column_path(
    problem: str,
    kernels: RankOneKernels,
    split: Split,
    options: FitOptions,
) -> PathResult:
    """Fit the path of one kernel and evaluate it, as `fit_path` does; `kernels` contains only this kernel."""
    fits = _fit(problem, kernels, split.target[split.train], options.values, options.class_weight)
    fitted, held_out = (fits.predict(columns) for columns in (_train(kernels), _held_out(kernels)))
    predicted = PathPredictions.of(fitted, held_out, split)
    certificates = fits.certificates[0].tolist()
    return measure_path(problem, options.path, predicted, certificates, options.metrics, options.metric)


def _fit(
    problem: str, kernels: RankOneKernels, target: Floats, values: Sequence[float], class_weight: str | None
) -> ColumnFits:
    if problem == "regression":
        return _fit_ridge(kernels, target, np.asarray(values, dtype=np.float64))
    return _fit_svm(_train(kernels), target, values, class_weight)


def _fit_ridge(kernels: RankOneKernels, target: Floats, ridges: Floats) -> ColumnFits:
    means = target.mean(axis=0)
    products = np.array([kernels.projections(column) for column in (target - means).T])  # (outputs, kernels)
    slopes = products[:, :, None] / (1.0 + ridges)
    residuals = products[:, :, None] - slopes - ridges * slopes
    scale = np.linalg.norm(products, axis=0)[:, None]
    certificates = np.divide(
        np.linalg.norm(residuals, axis=0), scale, out=np.zeros(residuals.shape[1:]), where=scale > 0
    )
    intercepts = np.broadcast_to(means[:, None, None], slopes.shape)
    return ColumnFits(slopes, intercepts, certificates, certificates <= MAX_RESIDUAL)


def _fit_svm(columns: Floats, target: Floats, values: Sequence[float], class_weight: str | None) -> ColumnFits:
    weights, pairs = sample_weights(target, class_weight), class_pairs(target)
    slopes, intercepts, gaps = np.empty((3, len(pairs), columns.shape[1], len(values)))
    for pair_index, pair in enumerate(pairs):
        grouped = [GroupedColumn.of(column, pair.labels, weights[pair.samples]) for column in columns[pair.samples].T]
        found = fit_single_columns(grouped, values)
        slopes[pair_index], intercepts[pair_index], gaps[pair_index] = found.slopes, found.intercepts, found.gaps
    certificates = gaps.max(axis=0)
    return ColumnFits(slopes, intercepts, certificates, certificates <= MAX_GAP, True, target.shape[1])


def _train(kernels: RankOneKernels) -> Floats:
    return np.asarray(kernels.columns.toarray() - kernels.means)


def _held_out(kernels: RankOneKernels) -> Floats:
    return np.asarray(kernels.held_out.toarray() - kernels.means)


def _parts(kernels: int, predictions: int) -> Iterator[Integers]:
    """Yield indices of kernels whose predictions fit into `PREDICTION_BYTES`."""
    size = max(1, PREDICTION_BYTES // (8 * predictions))
    for start in range(0, kernels, size):
        yield np.arange(start, min(start + size, kernels))
