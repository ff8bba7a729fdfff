"""Explain errors about samples that contain text, dates or missing values: which columns, and what to do."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.tasks.listing import list_first

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
        Instead of a ValueError or TypeError, if a column contains text, dates or missing values. Other errors are not
        changed.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        if advice := _advice(X, name):
            what = str(error).splitlines()[0].rstrip(".")
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
            f"{_columns(text, name)} text or dates: encode them in a pipeline, for example with ColumnTransformer("
            "[('text', OneHotEncoder(handle_unknown='ignore', sparse_output=False), "
            f"{text[:MAX_NAMED_COLUMNS]})], remainder='passthrough'), or leave them out"
        )
    gaps = [column for column in frame if frame[column].isna().any()]
    if gaps:
        return (
            f"{_columns(gaps, name)} missing values: impute them in a pipeline, for example with SimpleImputer(), or "
            "leave out these rows"
        )
    return ""


def _columns(columns: Sequence[Hashable], name: str) -> str:
    """Return the beginning of a sentence about columns.

    >>> _columns(["sex"], "X"), _columns([0, 2], "X")
    ("Column 'sex' of X contains", 'Columns 0, 2 of X contain')
    """
    listed = list_first(list(map(repr, columns)), MAX_NAMED_COLUMNS)
    return f"Column {listed} of {name} contains" if len(columns) == 1 else f"Columns {listed} of {name} contain"


def _has_text(values: pd.Series) -> bool:
    """Return whether a column contains dates, or text that is not a number."""
    if values.dtype.kind in "mM":
        return True
    text = values.astype(object)[values.map(lambda cell: isinstance(cell, str)).to_numpy(dtype=bool)]
    return bool(pd.to_numeric(text, errors="coerce").isna().any())
