"""From a sparse matrix of a file to a `RawTable`."""

from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.data.encoding import MAX_MAGNITUDE
from kernel_pipeline.data.formats.format import SparseColumns
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.errors import DataError


def from_sparse_columns(
    columns: SparseColumns, path: Path, dataset: str, missing: str, positive: list[str] | None
) -> RawTable:
    """Keep the rows that contain finite numbers only.

    Raises
    ------
    DataError
        If `missing` is "error" and a row contains another value.
    """
    features, target = columns.features, columns.target
    row_of = np.repeat(np.arange(len(target)), np.diff(features.indptr))
    unusable = ~(np.abs(features.data) < MAX_MAGNITUDE)  # true for NaN and infinity
    whole = np.abs(target) < MAX_MAGNITUDE
    whole[row_of[unusable]] = False
    if missing == "error" and not whole.all():
        row = int(np.argmin(whole))
        value = np.append(features.data[unusable & (row_of == row)], target[row])[0]
        raise DataError(
            f"dataset {dataset!r}: {path} has no usable number in row {row + 1} (found {value}); this is the case in "
            f"{int((~whole).sum())} of {len(whole)} rows. Fix the file, or drop these rows: missing = 'drop'"
        )
    return RawTable(
        features=canonical(features[whole]),
        names=[str(column) for column in columns.columns],
        target=pd.Series(target)[whole],
        rows=np.flatnonzero(whole),
        left_out=int((~whole).sum()),
        positive=positive,
    )


def canonical(features: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Bring a matrix to canonical form in place, so that equal matrices have equal digests."""
    features.sum_duplicates()
    features.eliminate_zeros()
    return features
