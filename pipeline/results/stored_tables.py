"""Read result tables from a run directory; their size is checked before they are parsed."""

import io
from collections.abc import Sequence
from typing import Any

import pandas as pd

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.results.columns import COLUMNS, Column, columns
from kernel_pipeline.results.summary import MEASURES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.text import printable

ROWS = f"{RESULTS}/rows.csv"
CORRELATION = f"{RESULTS}/correlation.csv"
COMPARISON = f"{RESULTS}/comparison.csv"

MAX_COLUMNS = 100
MAX_VALUES = 20_000_000


def read_rows(root: Storage) -> pd.DataFrame:
    """Read the rows of a run; rows whose metric is not registered are left out.

    Tables of earlier versions, which had one repeat, have no column `repeat`; it is added.
    """
    required = columns("dataset", "task", "method", "trial", *MEASURES, "metric", "status")
    rows = read_table(root, ROWS, required)
    if "repeat" not in rows:
        rows.insert(list(rows).index("trial"), "repeat", 0)
    return rows[rows["metric"].isin(list(METRICS))]


def read_correlation(root: Storage) -> pd.DataFrame | None:
    """Read the correlation table of a run; None if it has none."""
    required = columns("dataset", "task", "kernels", "centered", "uncentered")
    return read_table(root, CORRELATION, required) if root.exists(CORRELATION) else None


def read_comparison(root: Storage) -> pd.DataFrame | None:
    """Read the comparison table of a run; None if it has none, since earlier versions did not write one."""
    required = columns(
        "dataset", "task", "metric", "method", "other", "paired_trials", "difference", "p_paired", "p_holm"
    )
    return read_table(root, COMPARISON, required) if root.exists(COMPARISON) else None


def read_table(root: Storage, key: str, required: Sequence[Column]) -> pd.DataFrame:
    """Read a table; control characters in its text columns are escaped.

    Columns of integers and booleans that may have missing values are read as the registry of columns states, since
    pandas would read integers as floats.

    Parameters
    ----------
    required
        Columns that the table must have.

    Raises
    ------
    RefusedError
        If the table is not one that a run has written.
    """
    content = root.read(key)
    header = content.partition(b"\n")[0].split(b",")
    values = content.count(b",") + content.count(b"\n")
    if len(header) > MAX_COLUMNS or values > MAX_VALUES:
        found = f"it has {len(header):,} columns and {values:,} values"
        raise _refused(root, key, f"{found}; at most {MAX_COLUMNS:,} and {MAX_VALUES:,} are allowed")
    dtypes: dict[str, Any] = {
        name: column.pandas_type
        for name, column in COLUMNS.items()
        if column.nullable and column.dtype in ("integer", "boolean") and name.encode() in header
    }
    try:
        table = pd.read_csv(io.BytesIO(content), dtype=dtypes)
    except (ValueError, RecursionError) as error:
        raise _refused(root, key, str(error)) from None
    if missing := [column.name for column in required if column.name not in table]:
        raise _refused(root, key, f"it has no column {missing[0]!r}")
    texts = table.select_dtypes(exclude=["number", "boolean", "bool"])
    return table.assign(**{str(name): texts[name].map(printable, na_action="ignore") for name in texts})


def _refused(root: Storage, key: str, why: str) -> RefusedError:
    return RefusedError(
        f"{root}/{key} is not a valid table of a run: {why}. Restore it with `pipeline verify {quoted(root)} --repair`"
    )
