"""State which methods are significantly better than `unif`, the plain sum of the base kernels."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kernel_pipeline.results.best_methods import have_same_errors, listed, p_range
from kernel_pipeline.results.paired_tests import LEVEL

UNIF = "unif"


@dataclass(frozen=True)
class _Outcome:
    """Comparisons of all other methods with `unif` on one dataset and problem."""

    better: tuple[str, ...]
    """Methods that are significantly better."""
    p_values: tuple[float, ...]
    """Adjusted p-values of these methods."""
    not_better: tuple[str, ...]
    """Methods whose test finds no smaller error, or that have the same error in every trial."""
    untested: tuple[str, ...]
    """Methods that have errors, but for which the test is not defined."""


def unif_sentences(comparison: pd.DataFrame) -> list[str]:
    """Return sentences that state on which datasets which methods are significantly better than `unif`.

    All other methods are considered, including baselines. Methods without a result are left out.

    Parameters
    ----------
    comparison
        The table of this name. The p-values are those of its column `p_holm`.

    Examples
    --------
    >>> row = {"method": "unif", "other": "align", "paired_trials": 5, "p_paired": 0.9}
    >>> rows = [row | {"dataset": "digits", "task": "classification", "difference": 0.1, "p_holm": 0.02}]
    >>> unif_sentences(pd.DataFrame(rows))
    ['On digits, align is significantly better than unif (p = .02, corrected).']
    """
    pairs = comparison[(comparison["method"] == UNIF) | (comparison["other"] == UNIF)]
    found = {(str(key[0]), str(key[1])): _outcome(rows) for key, rows in pairs.groupby(["dataset", "task"], sort=False)}
    problems = Counter(dataset for dataset, _ in found)
    outcomes = {f"{name} ({problem})" if problems[name] > 1 else name: of for (name, problem), of in found.items()}
    sentences = [
        f"On {place}, {listed(of.better)} {'is' if len(of.better) == 1 else 'are'} significantly better than {UNIF}"
        f"{p_range(of.p_values)}."
        for place, of in outcomes.items()
        if of.better
    ]
    others = {place: of for place, of in outcomes.items() if not of.better}
    sentences += [
        f"On {place}, no tested method is significantly better than {UNIF}; {listed(of.untested)}: not tested."
        for place, of in others.items()
        if of.not_better and of.untested
    ]
    if none := [place for place, of in others.items() if of.not_better and not of.untested]:
        where = "any dataset" if len(none) == len(outcomes) > 1 else listed(none)
        sentences.append(f"No method is significantly better than {UNIF} on {where}.")
    if undefined := [place for place, of in others.items() if not of.not_better]:
        sentences.append(f"The test of other methods against {UNIF} is not defined on {listed(undefined)}.")
    return sentences


def _outcome(rows: pd.DataFrame) -> _Outcome:
    better, not_better, untested = {}, [], []
    for row in rows.to_dict("records"):
        is_first = row["method"] == UNIF
        method, gain = str(row["other" if is_first else "method"]), row["difference"] * (1 if is_first else -1)
        if row["p_holm"] < LEVEL and gain > 0:
            better[method] = float(row["p_holm"])
        elif not np.isnan(row["p_holm"]) or have_same_errors(row):
            not_better.append(method)
        elif row["paired_trials"]:
            untested.append(method)
    return _Outcome(tuple(better), tuple(better.values()), tuple(not_better), tuple(untested))
