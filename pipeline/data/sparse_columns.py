"""Build a `RawTable` from a sparse matrix."""

from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.data.encoding import MAX_MAGNITUDE
from kernel_pipeline.data.formats.format import SparseColumns
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.sparse_rows import SparseRows, aligned_columns
from kernel_pipeline.errors import DataError


def table_from_sparse(
    columns: SparseColumns, path: Path, dataset: str, missing: str, positive: list[str] | None
) -> RawTable:
    """Build a table of the rows that contain finite numbers only.

    Raises
    ------
    DataError
        If `missing` is "error" and a row contains another value.
    """
    features, target = columns.features, columns.target
    row_of = np.repeat(np.arange(len(target)), np.diff(features.indptr))
    unusable = ~(np.abs(features.data) < MAX_MAGNITUDE)  # true for NaN and infinity
    complete = np.abs(target) < MAX_MAGNITUDE
    complete[row_of[unusable]] = False
    if missing == "error" and not complete.all():
        row = int(np.argmin(complete))
        value = np.append(features.data[unusable & (row_of == row)], target[row])[0]
        raise DataError(
            f"dataset {dataset!r}: {path} contains an unusable number in data row {row + 1} (found {value}); this is "
            f"the case in {int((~complete).sum())} of {len(complete)} rows. Fix the file, or drop these rows: "
            "missing = 'drop'"
        )
    return RawTable(
        features=canonical(features[complete]),
        names=[str(column) for column in columns.columns],
        numbers=columns.columns,
        target=pd.Series(target)[complete],
        rows=np.flatnonzero(complete),
        left_out=int((~complete).sum()),
        positive=positive,
        encoder=SparseRows(columns.columns),
    )


def append_rows(columns: SparseColumns, more: SparseColumns) -> SparseColumns:
    """Append the rows of another file; columns that only the other file has are left out."""
    aligned = aligned_columns(more, columns.columns)
    return SparseColumns(
        scipy.sparse.csr_array(scipy.sparse.vstack([columns.features, aligned])),
        columns.columns,
        np.concatenate([columns.target, more.target]),
    )


def canonical(features: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Bring a matrix to canonical form in place, so that equal matrices have equal digests."""
    features.sum_duplicates()
    features.eliminate_zeros()
    return features
