"""Read result tables from a run directory; size and form are checked before a table is parsed."""

import io
from collections.abc import Sequence
from typing import Any

import pandas as pd

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.results.columns import Column, columns
from kernel_pipeline.results.summary import MEASURES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.text import printable

ROWS = f"{RESULTS}/rows.csv"
CORRELATION = f"{RESULTS}/correlation.csv"

MAX_COLUMNS = 100
MAX_CELLS = 20_000_000


def read_rows(root: Storage) -> pd.DataFrame:
    """Read the rows of a run."""
    required = columns("dataset", "task", "method", "trial", *MEASURES, "metric", "status")
    rows = read_table(root, ROWS, required, columns("n_kernels", "n_active", "at_edge"))
    return rows[rows["metric"].isin([metric.name for metric in METRICS.values() if metric.primary])]


def read_correlation(root: Storage) -> pd.DataFrame | None:
    """Read the correlation table of a run, if it has one."""
    required = columns("dataset", "task", "kernels", "centered", "uncentered")
    return read_table(root, CORRELATION, required) if root.exists(CORRELATION) else None


def read_table(root: Storage, key: str, required: Sequence[Column], with_gaps: Sequence[Column] = ()) -> pd.DataFrame:
    """Read a table; control characters in its texts are escaped.

    Parameters
    ----------
    required
        Columns that it must have.
    with_gaps
        Columns that are read with their own type, because an empty cell would make them numbers.

    Raises
    ------
    RefusedError
        If a run cannot have written the table.
    """
    content = root.read(key)
    header = content.partition(b"\n")[0].split(b",")
    cells = content.count(b",") + content.count(b"\n")
    if len(header) > MAX_COLUMNS or cells > MAX_CELLS:
        raise _refused(root, key, f"it has {len(header):,} columns and {cells:,} cells")
    given: dict[str, Any] = {column.name: column.pandas_type for column in with_gaps if column.name.encode() in header}
    try:
        table = pd.read_csv(io.BytesIO(content), dtype=given)
    except (ValueError, RecursionError) as error:
        raise _refused(root, key, str(error)) from None
    if missing := [column.name for column in required if column.name not in table]:
        raise _refused(root, key, f"it has no column {missing[0]!r}")
    texts = table.select_dtypes(exclude=["number", "boolean", "bool"])
    return table.assign(**{str(name): texts[name].map(printable, na_action="ignore") for name in texts})


def _refused(root: Storage, key: str, why: str) -> RefusedError:
    return RefusedError(
        f"{root}/{key} is not a table that a run wrote: {why}. `pipeline verify {quoted(root)} --repair` writes it "
        "again"
    )
