"""Fit support vector machines on single columns: many small problems at once, each to a tiny duality gap.

For one column v, the problem is `min_w w^2 / 2 + C h(w)` with

    h(w) = min_b sum_i c_i max(0, 1 - y_i (w v_i + b)),

which is convex and piecewise linear. Samples with the same value and label are merged into one sample with the sum of
their weights, so that a column of counts has few samples. The minimum over b is found by sorting, and gives h and its
slope. Two tangents of h bracket the solution; their maximum is a lower bound of h, from which the duality gap follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.learners.svm_certificate import FLAT_SLOPE

# Relative duality gap at which the iteration stops.
GAP = 1e-10
MAX_STEPS = 200
# Number of steps after which the bracket is halved, so that it shrinks even if the tangents are nearly parallel.
STEPS_PER_BISECTION = 4
# Maximum number of entries in the arrays of problems that are solved together, so that they stay in the cache.
BATCH_ENTRIES = 1 << 16


@dataclass(frozen=True)
class GroupedColumn:
    """Distinct pairs of value and label, with their weights, of one column, or of many padded to the same width."""

    values: Floats
    """(pairs,), or (columns, pairs); padded entries have weight 0."""
    labels: Floats
    """-1 and +1."""
    weights: Floats

    @classmethod
    def of(cls, column: Floats, labels: Floats, weights: Floats) -> "GroupedColumn":
        """Group the samples of a column, (n,), by value and label."""
        distinct, place = np.unique(column, return_inverse=True)
        both = [np.bincount(place, weights * (labels == sign), len(distinct)) for sign in (-1.0, 1.0)]
        totals = np.concatenate(both).astype(np.float64)
        used = totals > 0
        signs = np.repeat([-1.0, 1.0], len(distinct))
        return cls(np.tile(distinct, 2)[used], signs[used], totals[used])

    @property
    def width(self) -> int:
        """Return the number of pairs to which a column is padded: the next power of two.

        The result of a column is then the same whether it is solved alone or together with others.
        """
        return 1 << (len(self.values) - 1).bit_length()

    @classmethod
    def stacked(cls, columns: Sequence["GroupedColumn"]) -> "GroupedColumn":
        """Combine columns of the same width into arrays of shape (columns, width)."""
        shape = (len(columns), columns[0].width)
        values, labels, weights = np.zeros(shape), np.ones(shape), np.zeros(shape)
        for row, column in enumerate(columns):
            used = slice(len(column.values))
            values[row, used], labels[row, used], weights[row, used] = column.values, column.labels, column.weights
        return cls(values, labels, weights)

    def only(self, rows: Booleans) -> "GroupedColumn":
        """Return some of the columns."""
        return GroupedColumn(self.values[rows], self.labels[rows], self.weights[rows])


@dataclass(frozen=True)
class ColumnMachines:
    """Classifiers `slope * v + intercept` of many columns and values of C, with their relative duality gaps."""

    slopes: Floats
    """(columns, values)"""
    intercepts: Floats
    gaps: Floats


@dataclass
class _Tangents:
    """Points w, and the value and the slope of h there; one per problem."""

    points: Floats
    heights: Floats
    slopes: Floats

    def at(self, w: Floats) -> Floats:
        """Return the values of the tangents at other points."""
        return self.heights + self.slopes * (w - self.points)

    def only(self, rows: Booleans) -> "_Tangents":
        return _Tangents(self.points[rows], self.heights[rows], self.slopes[rows])

    def replaced(self, rows: Booleans, others: "_Tangents") -> "_Tangents":
        """Return the tangents, with those of some rows replaced by others."""
        pairs = ((self.points, others.points), (self.heights, others.heights), (self.slopes, others.slopes))
        return _Tangents(*(np.where(rows, new, old) for old, new in pairs))


def fit_single_columns(columns: Sequence[GroupedColumn], costs: Sequence[float]) -> ColumnMachines:
    """Fit every column for every C.

    Parameters
    ----------
    columns
        Columns in each of which both labels occur.
    costs
        Values of C.
    """
    values, widths = np.asarray(costs, dtype=np.float64), np.array([column.width for column in columns])
    found = ColumnMachines(*np.empty((3, len(columns), len(values))))
    for width in np.unique(widths).tolist():
        same = np.flatnonzero(widths == width)
        size = max(1, BATCH_ENTRIES // (width * len(values)))
        for start in range(0, len(same), size):
            chosen = same[start : start + size]
            stacked = GroupedColumn.stacked([columns[number] for number in chosen])
            parts = (stacked.values, stacked.labels, stacked.weights)
            problems = GroupedColumn(*(np.repeat(part, len(values), axis=0) for part in parts))
            solved = _solve(problems, np.tile(values, len(chosen)))
            for array, part in zip((found.slopes, found.intercepts, found.gaps), solved, strict=True):
                array[chosen] = part.reshape(len(chosen), -1)
    return found


def _solve(problems: GroupedColumn, costs: Floats) -> tuple[Floats, Floats, Floats]:
    """Return slopes, intercepts and relative gaps, one per problem."""
    slopes = np.zeros_like(costs)
    start, intercepts = _tangents(problems, slopes)
    # The best point so far; w = 0 is kept unless another one is better by more than rounding.
    least, gaps = costs * start.heights, np.ones_like(costs)
    radius = np.sqrt(2.0 * least)  # w^2 / 2 is at most the objective at 0
    low, high = (_tangents(problems, sign * radius)[0] for sign in (-1.0, 1.0))
    active = np.arange(len(costs))
    for step in range(MAX_STEPS):
        best, bound = _model_minimum(low, high, costs[active])
        gaps[active] = np.maximum(0.0, (least[active] - bound) / least[active])
        unsolved = gaps[active] > GAP
        if not unsolved.all():
            active, best = active[unsolved], best[unsolved]
            low, high, problems = low.only(unsolved), high.only(unsolved), problems.only(unsolved)
        if not len(active):
            break
        if step % STEPS_PER_BISECTION == STEPS_PER_BISECTION - 1:
            best = (low.points + high.points) / 2
        found, shifts = _tangents(problems, best)
        objective = best**2 / 2 + costs[active] * found.heights
        better = objective < least[active] * (1.0 - GAP / 2)
        for values, new in ((slopes, best), (intercepts, shifts), (least, objective)):
            values[active[better]] = new[better]
        rising = best + costs[active] * found.slopes > 0
        low, high = low.replaced(~rising, found), high.replaced(rising, found)
    return slopes, intercepts, gaps


def _model_minimum(low: _Tangents, high: _Tangents, costs: Floats) -> tuple[Floats, Floats]:
    """Return the minimiser of `w^2 / 2 + C max(two tangents)`, and its value, which bounds the objective from below."""
    parallel = high.slopes <= low.slopes
    difference = low.at(np.zeros_like(costs)) - high.at(np.zeros_like(costs))
    crossing = np.divide(difference, high.slopes - low.slopes, out=low.points.copy(), where=~parallel)
    best = np.clip(crossing, -costs * high.slopes, -costs * low.slopes)
    best = np.clip(np.where(parallel, -costs * low.slopes, best), low.points, high.points)
    return best, best**2 / 2 + costs * np.maximum(low.at(best), high.at(best))


def _tangents(problems: GroupedColumn, w: Floats) -> tuple[_Tangents, Floats]:
    """Return the tangents of h at some points, and the intercepts b at which the minimum in h is attained."""
    values, labels, weights = problems.values, problems.labels, problems.weights
    kinks = labels - w[:, None] * values
    order = np.argsort(kinks, axis=1, kind="stable")
    sorted_weights, sorted_labels, sorted_values, sorted_kinks = (
        np.take_along_axis(part, order, axis=1) for part in (weights, labels, values, kinks)
    )
    total, positive = weights.sum(axis=1), np.where(labels > 0, weights, 0.0).sum(axis=1)
    rises = np.cumsum(sorted_weights, axis=1) - positive[:, None]  # slope in b to the right of each kink
    flat = FLAT_SLOPE * total[:, None]
    first, last = (np.argmax(rises >= level, axis=1)[:, None] for level in (-flat, flat))
    ends = [np.take_along_axis(sorted_kinks, place, axis=1)[:, 0] for place in (first, last)]
    intercepts = (ends[0] + ends[1]) / 2
    losses = np.maximum(0.0, 1.0 - labels * (w[:, None] * values + intercepts[:, None]))
    heights = (weights * losses).sum(axis=1)
    # Products of the dual variables and the labels. They sum to 0, which determines that of the first kink.
    places = np.arange(labels.shape[1])
    after, before = (places > first) & (sorted_labels > 0), (places < first) & (sorted_labels < 0)
    signed = np.where(after, sorted_weights, 0.0) - np.where(before, sorted_weights, 0.0)
    np.put_along_axis(signed, first, -signed.sum(axis=1)[:, None], axis=1)
    return _Tangents(w, heights, -(signed * sorted_values).sum(axis=1)), intercepts
