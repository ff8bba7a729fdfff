"""Draw the rows of a table to learn from."""

import numpy as np

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.sweep import MIN_FOLDS, Config
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.text import counted


def sample_rows(table: RawTable, dataset: DatasetBase, config: Config) -> Integers:
    """Return the rows to learn from, in random order, followed by all rows of a fixed test set.

    Raises
    ------
    DataError
        If there are too few rows, or a fixed test set is empty.
    """
    test = np.zeros(len(table.target), dtype=bool) if table.test is None else table.test
    folds, name, available = config.protocol.folds, dataset.name, int((~test).sum())
    rows = dataset.rows or available
    if table.test is not None and not test.any():
        raise DataError(
            f"dataset {name!r}: the test set (key test or test_path) has no usable row; mark rows that have a label as "
            "the test set, or remove this key"
        )
    if rows > available:
        outside = "" if table.test is None else " outside of the test set (key test or test_path)"
        raise DataError(
            f"dataset {name!r}: rows = {rows}, but there are only {available} usable rows{outside}; choose fewer rows, "
            "or remove this key to use all of them"
        )
    if rows < folds:
        found = counted(rows, "row is", "rows are")
        if table.test is not None:
            others = counted(int(test.sum()), "row")
            found = f"the test set (key test or test_path) has {others}, and the other {found}"
        raise DataError(
            f"dataset {name!r}: {found} too few for {folds} folds; each fold needs a row. "
            f"{_add_rows(rows, available, folds, has_test=table.test is not None)}"
        )
    drawn = np.random.default_rng(config.seed).permutation(available)[:rows]
    return np.concatenate([np.flatnonzero(~test)[drawn], np.flatnonzero(test)]).astype(np.int64)


def _add_rows(rows: int, available: int, folds: int, has_test: bool) -> str:
    """Return what to do about a dataset with fewer rows than folds."""
    more = f"Set rows = {folds} or more" if rows < available else "Add rows with a label to the source"
    if has_test and rows == available:
        more = "Add rows with a label that are not in the test set, or choose a smaller test set"
    return f"{more}, or set [protocol] folds = {rows} or less" if rows >= MIN_FOLDS else more
