"""Explain errors about samples that contain text, dates or missing values: which columns, and what to do."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.tasks.listing import list_first

EXPLAINED = ("contains NaN", "could not convert", "DType")
"""Parts of the messages of scikit-learn, numpy and pandas about missing values, text and dates."""
MAX_NAMED_COLUMNS = 5
"""Maximum number of columns that a message names."""


@contextmanager
def explained_input(X: Any, name: str = "X") -> Iterator[None]:
    """Raise errors of scikit-learn about samples with the columns that cause them, and with the steps to add.

    Parameters
    ----------
    X
        The samples that are validated in the context.
    name
        Their name in messages.

    Raises
    ------
    ValueError
        Instead of an error about a column that contains text, dates or missing values. Other errors are not changed.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        what = str(error).partition("\n")[0].rstrip(".")
        if any(part in what for part in EXPLAINED) and (advice := _advice(X, name)):
            raise ValueError(f"{what}. {advice}") from None
        raise


def _advice(X: Any, name: str) -> str:
    """Return which columns contain text, dates or missing values, and what to do; empty if there are none."""
    try:
        frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X, dtype=object))
    except (ValueError, TypeError):
        return ""
    text = [column for column in frame if _has_text(frame[column])]
    if text:
        return (
            f"{_start(text, name)} text or dates: encode them in a pipeline, for example with ColumnTransformer("
            "[('text', OneHotEncoder(handle_unknown='ignore', sparse_output=False), "
            f"[{_listed(text)}])], remainder='passthrough'), or leave them out"
        )
    gaps = [column for column in frame if frame[column].isna().any()]
    if gaps:
        return (
            f"{_start(gaps, name)} missing values: impute them in a pipeline, for example with SimpleImputer(), or "
            "leave out these rows"
        )
    return ""


def _start(columns: Sequence[Hashable], name: str) -> str:
    """Return the beginning of a sentence about columns.

    >>> _start(["sex"], "X"), _start([0, 2], "X")
    ("Column 'sex' of X contains", 'Columns 0, 2 of X contain')
    """
    one, several = f"Column {_listed(columns)} of {name} contains", f"Columns {_listed(columns)} of {name} contain"
    return one if len(columns) == 1 else several


def _listed(columns: Sequence[Hashable]) -> str:
    return list_first(list(map(repr, columns)), MAX_NAMED_COLUMNS)


def _has_text(values: pd.Series) -> bool:
    """Return whether a column contains dates, or text that is not a number."""
    if values.dtype.kind in "mM":
        return True
    text = values.astype(object)[values.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)]
    return bool(pd.to_numeric(text, errors="coerce").isna().any())
