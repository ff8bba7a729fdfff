"""Read the libsvm (svmlight) format: one row per line, the label followed by `index:value` pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.data.formats.format import FileContentError, Format, ReadOptions, SparseColumns, register

if TYPE_CHECKING:
    import pandas as pd

MAX_COLUMNS = 5_000_000
"""Maximum number of columns that are not empty, each of which is a kernel with a name."""


def read_sparse(path: Path, keep: Sequence[int] = ()) -> SparseColumns:
    """Read a file as a sparse matrix.

    Parameters
    ----------
    path
        The file, which may be compressed.
    keep
        Numbers of columns that are kept even if they are empty.

    Notes
    -----
    An index may be any integer, so no array may have the size of the largest index.
    """
    import scipy.sparse
    from sklearn.datasets import load_svmlight_file

    loaded, target = load_svmlight_file(str(path))
    kept = [column for column in keep if 0 <= column < loaded.shape[1]]
    columns = np.union1d(loaded.indices[loaded.data != 0], kept).astype(np.int64)
    if len(columns) > MAX_COLUMNS:
        raise FileContentError(
            f"it has {len(columns):,} columns that are not empty; at most {MAX_COLUMNS:,} are allowed. "
            "Remove rare columns from the file"
        )
    row_of = np.repeat(np.arange(len(target)), np.diff(loaded.indptr))
    used = np.isin(loaded.indices, columns)
    positions = np.searchsorted(columns, loaded.indices[used])
    shape = (len(target), len(columns))
    features = scipy.sparse.csr_array((loaded.data[used], (row_of[used], positions)), shape=shape)
    return SparseColumns(features, columns, target)


def _read(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd

    from kernel_pipeline.data.frames import TARGET
    from kernel_pipeline.data.table_size import check_table

    loaded = read_sparse(path, [column for column in options.drop if isinstance(column, int)])
    check_table(*loaded.features.shape, options.dataset)
    frame = pd.DataFrame(loaded.features.toarray())
    frame[TARGET] = loaded.target
    return frame.set_axis([*loaded.columns.tolist(), TARGET], axis=1)


register("libsvm", Format(_read, marks_target=True, read_sparse=read_sparse), ".libsvm", ".svm")
