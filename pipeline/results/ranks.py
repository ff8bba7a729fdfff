"""Rank methods over several datasets, with the tests of Friedman and Nemenyi (Demsar, JMLR 7, 2006)."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

MIN_DATASETS = 4
"""Smallest number of datasets for which methods are ranked."""
MIN_METHODS = 3
"""Smallest number of methods for the Friedman test."""
GROUP = ["task", "metric"]


def rank_methods(summary: pd.DataFrame) -> pd.DataFrame | None:
    """Return the average rank of each method and the Friedman test, by problem; None with fewer than four datasets.

    Ranks are those of the mean errors. A method that has no error on some dataset has no rank.
    """
    found: list[dict[str, object]] = []
    for key, errors in _problems(summary):
        # Importing this package takes half a second, and most runs have too few datasets to need it.
        from scipy.stats import friedmanchisquare

        ranked = errors.dropna(axis="columns")
        ranks = ranked.rank(axis="columns").mean()
        statistic, p_value = np.nan, np.nan
        if ranked.shape[1] >= MIN_METHODS and (ranked.nunique(axis="columns") > 1).any():  # else all ranks are equal
            statistic, p_value = map(float, friedmanchisquare(*ranked.to_numpy().T))
        for method in errors:
            rank = float(ranks.get(method, np.nan))
            test = {"friedman_statistic": statistic, "friedman_p": p_value}
            found.append({**key, "method": method, "datasets": len(errors), "average_rank": rank, **test})
    return pd.DataFrame(found) if found else None


def compare_ranks(summary: pd.DataFrame) -> pd.DataFrame | None:
    """Return the p-value of the Nemenyi test for each pair of ranked methods; None with fewer than four datasets."""
    found: list[dict[str, object]] = []
    for key, errors in _problems(summary):
        ranked = errors.dropna(axis="columns")
        if ranked.shape[1] < 2:
            continue
        # Importing this package takes seconds, and most runs have too few datasets to need it.
        from scikit_posthocs import posthoc_nemenyi_friedman

        p_values = posthoc_nemenyi_friedman(ranked.to_numpy()).to_numpy()
        for (i, method), (j, other) in combinations(enumerate(ranked), 2):
            found.append({**key, "method": method, "other": other, "p_nemenyi": float(p_values[i, j])})
    return pd.DataFrame(found) if found else None


def _problems(summary: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield the key and the mean errors, (datasets, methods), of each problem with enough datasets."""
    for group, part in summary.groupby(GROUP, sort=False):
        errors = part.pivot(index="dataset", columns="method", values="error_mean")
        datasets, methods = (list(dict.fromkeys(part[name])) for name in ("dataset", "method"))
        if len(datasets) >= MIN_DATASETS:
            yield dict(zip(GROUP, map(str, group), strict=True)), errors.loc[datasets, methods]
