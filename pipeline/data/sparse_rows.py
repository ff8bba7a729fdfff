"""Encode new rows of a sparse file in the same way as the rows of a dataset."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.data.encoding import MAX_MAGNITUDE
from kernel_pipeline.data.formats.format import SparseColumns
from kernel_pipeline.data.new_rows import NewRows, RowForm
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Integers


@dataclass(frozen=True)
class SparseRows:
    """Encoder of rows with numbered columns.

    Columns that do not occur in the data that the model was fitted to are ignored.
    """

    numbers: Integers
    """Numbers of the columns in the file, ascending."""
    chosen: Integers | None = None
    """Indices of the features that are used; None for all."""

    @property
    def form(self) -> RowForm:
        """Form of a file of new rows."""
        return "sparse"

    @property
    def has_column_names(self) -> bool | None:
        """Return None: the columns have numbers only."""
        return None

    def only(self, indices: Integers) -> "SparseRows":
        """Return an encoder of only the features with the given indices."""
        return replace(self, chosen=np.asarray(indices) if self.chosen is None else self.chosen[indices])

    def encode(self, rows: Any) -> NewRows:
        """Return the features of new rows, given as the content of a file, or as a matrix or array of all columns."""
        if not isinstance(rows, SparseColumns):
            values = rows.to_numpy(np.float64) if isinstance(rows, pd.DataFrame) else rows
            whole = scipy.sparse.csr_array(values, dtype=np.float64)
            rows = SparseColumns(whole, np.arange(whole.shape[1]), np.empty(0))
        features = aligned_columns(rows, self.numbers)
        if (unusable := ~(np.abs(features.data) < MAX_MAGNITUDE)).any():  # true for NaN and infinity
            entry = int(np.argmax(unusable))
            row = int(np.searchsorted(features.indptr, entry, side="right"))
            raise DataError(
                f"row {row} of the new rows (counted from 1) contains {features.data[entry]}; values must be finite "
                f"and below {MAX_MAGNITUDE:g} in absolute value. Correct the value, or leave the row out"
            )
        features = features if self.chosen is None else features[:, self.chosen]
        return NewRows(features, np.ones(features.shape[0], dtype=bool))


def aligned_columns(rows: SparseColumns, numbers: Integers) -> scipy.sparse.csr_array:
    """Return the columns with the given numbers, which must ascend; columns that the rows lack are empty."""
    known = np.isin(rows.columns, numbers)
    place = np.full(rows.features.shape[1], -1)
    place[known] = np.searchsorted(numbers, rows.columns[known])
    entries = rows.features.tocoo()
    kept = known[entries.col]
    shape = (rows.features.shape[0], len(numbers))
    return scipy.sparse.csr_array((entries.data[kept], (entries.row[kept], place[entries.col[kept]])), shape=shape)
