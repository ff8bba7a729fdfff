"""State which method is best on each dataset and problem, and from which methods it cannot be distinguished."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.results.markup import short_number, short_p
from kernel_pipeline.results.paired_tests import LEVEL
from kernel_pipeline.results.rounding import ROUNDING

MAX_NAMED = 3
"""Largest number of methods that a sentence names one by one, for each result of the tests."""


@dataclass(frozen=True)
class Rival:
    """A method in comparison with the best one."""

    method: str
    error: float
    """Mean error; NaN if all trials failed."""
    p_value: float
    """Corrected resampled t-test, adjusted by Holm's method; NaN if it is not defined."""
    is_equal: bool = False
    """Whether both methods have the same error in every trial."""


@dataclass(frozen=True)
class BestMethod:
    """The best method of one dataset and problem, and all other methods by increasing mean error."""

    dataset: str
    problem: str
    metric: str
    method: str
    """Name of the best method; empty if no method has a result."""
    error: float
    """Mean error of the best method."""
    rivals: tuple[Rival, ...]

    @property
    def indistinguishable(self) -> tuple[str, ...]:
        """Return the other methods that have errors and cannot be distinguished from the best one."""
        return tuple(rival.method for rival in self.rivals if not np.isnan(rival.error) and not rival.p_value < LEVEL)

    @property
    def tied(self) -> tuple[str, ...]:
        """Return the best method and all others whose mean errors equal its mean error up to rounding."""
        return (self.method, *(rival.method for rival in self.rivals if self._is_tied(rival)))

    def _is_tied(self, rival: Rival) -> bool:
        return math.isclose(rival.error, self.error, rel_tol=ROUNDING)

    @property
    def sentence(self) -> str:
        """Return the results of all comparisons with the best method as a sentence; methods that tie are all best.

        >>> rivals = (Rival("alignf", 0.119, 0.15), Rival("unif", 0.138, 0.004))
        >>> BestMethod("kinematics", "regression", "rmse", "best-single", 0.11, rivals).sentence  # doctest: +ELLIPSIS
        'best-single .110 is best; alignf .119: no significant difference (p = .15, corrected); unif .138: ...'
        """
        if not self.method:
            return "no method has a result."
        best = [self.method, *(rival.method for rival in self.rivals if self._is_tied(rival) and not rival.is_equal)]
        rivals = [rival for rival in self.rivals if rival.method not in best]
        tested = [rival for rival in rivals if not np.isnan(rival.p_value)]
        parts = [f"{listed(best)} {short_number(self.error)} {'is' if len(best) == 1 else 'are'} best"]
        parts += _part([rival for rival in tested if rival.p_value >= LEVEL], "no significant difference")
        parts += _part([rival for rival in tested if rival.p_value < LEVEL], "significantly worse")
        parts += _part([rival for rival in rivals if rival.is_equal], "the same errors")
        others = [rival for rival in rivals if np.isnan(rival.p_value) and not rival.is_equal]
        parts += _part([rival for rival in others if not np.isnan(rival.error)], "not tested")
        parts += _part([rival for rival in others if np.isnan(rival.error)], "no result")
        return "; ".join(parts) + "."


def best_methods(summary: pd.DataFrame, comparison: pd.DataFrame) -> list[BestMethod]:
    """Return the best method of each dataset and problem, in the order of the summary.

    Parameters
    ----------
    summary, comparison
        The tables of these names.
    """
    compared = {
        (record["dataset"], record["task"], frozenset((record["method"], record["other"]))): record
        for record in comparison.to_dict("records")
    }
    found = []
    for (dataset, problem, metric), part in summary.groupby(["dataset", "task", "metric"], sort=False):
        means = part.set_index("method")["error_mean"].sort_values(kind="stable", na_position="last")
        best = str(means.index[0]) if not np.isnan(means.iloc[0]) else ""
        rivals = tuple(
            _rival(str(method), float(error), compared.get((dataset, problem, frozenset((best, str(method))))))
            for method, error in means.items()
            if method != best
        )
        found.append(BestMethod(str(dataset), str(problem), str(metric), best, float(means.iloc[0]), rivals))
    return found


def _rival(method: str, error: float, test: Mapping[Hashable, Any] | None) -> Rival:
    """Return a rival, given its row of the comparison table; `test` is None for a pair that is not compared."""
    if test is None:
        return Rival(method, error, np.nan)
    return Rival(method, error, float(test["p_holm"]), have_same_errors(test))


def have_same_errors(test: Mapping[Hashable, Any]) -> bool:
    """Return whether both methods of a row of the comparison table have the same error in each of several trials."""
    return bool(test["paired_trials"] > 1 and np.isnan(test["p_paired"]) and test["difference"] == 0.0)


def _part(rivals: Sequence[Rival], result: str) -> list[str]:
    """Return the part of a sentence about methods for which the tests have the same result."""
    if not rivals:
        return []
    names = listed([f"{rival.method} {short_number(rival.error)}".rstrip() for rival in rivals])
    p_values = [rival.p_value for rival in rivals if not np.isnan(rival.p_value)]
    return [f"{names}: {result}{p_range(p_values)}"]


def listed(names: Sequence[str]) -> str:
    """Return names as part of a sentence; those after the first `MAX_NAMED` are counted."""
    named = [*names[:MAX_NAMED], *([f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else [])]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def p_range(p_values: Sequence[float]) -> str:
    """Return p-values in parentheses, as one value or as a range; empty if there are none."""
    if not p_values:
        return ""
    smallest, largest = short_p(min(p_values)), short_p(max(p_values))
    if smallest == largest:
        return f" (p {smallest}, corrected)" if smallest.startswith("<") else f" (p = {smallest}, corrected)"
    return (
        f" (p = {smallest} to {largest}, corrected)"
        if not smallest.startswith("<")
        else f" (p <= {largest}, corrected)"
    )
