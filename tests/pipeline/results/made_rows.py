"""Artificial rows of results for tests."""

from collections.abc import Mapping, Sequence

import pandas as pd


def rows_of(
    errors: Mapping[str, Sequence[float | None]],
    dataset: str = "made",
    task: str = "regression",
    metric: str = "rmse",
) -> pd.DataFrame:
    """Return the rows of one dataset with the errors of each method; None marks a failed trial."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "task": task,
                "metric": metric,
                "method": method,
                "repeat": 0,
                "trial": trial,
                "error": error,
                "alignment_test": 0.1,
                "alignment_train": 0.1,
                "status": "ok" if error is not None else "failed: a reason",
            }
            for method, values in errors.items()
            for trial, error in enumerate(values)
        ]
    ).astype({"error": float})
