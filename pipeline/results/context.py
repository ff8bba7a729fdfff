"""Provide the data from which tables are built: the plan, the finished tasks, the stored arrays and other tables."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import pandas as pd

from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.columns import Column
from kernel_pipeline.results.notes import result_notes
from kernel_pipeline.results.table import TABLES, Table
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.reports import TaskReport

PENDING = "not run yet"
"""Status of the cells of an unfinished run that have no result yet."""


class TableContext:
    """Data from which the tables of one run are built. Each table is built when it is first used.

    Parameters
    ----------
    pending
        Names of the tasks of an unfinished run that have not been run; the status of their cells is `PENDING`.
    """

    def __init__(
        self, plan: Plan, finished: Mapping[str, TaskReport], store: RunStore, pending: Collection[str] = ()
    ) -> None:
        self.plan, self.store, self.pending = plan, store, pending
        # A missing result is treated like a failed one, so that every table shows the available results.
        missing = {name: TaskReport(task=name, failed=PENDING) for name in pending}
        self.finished: Mapping[str, TaskReport] = {**finished, **missing} if missing else finished
        self._built: dict[str, pd.DataFrame | None] = {}

    @cached_property
    def notes(self) -> list[Note]:
        """Return the notes about the results, from the finished tasks."""
        return result_notes(self.plan, self.finished)

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a table; None if it does not apply to this run."""
        frames = list(self.frames(name))
        return concatenate(frames) if len(frames) > 1 else next(iter(frames), None)

    def required_table(self, name: str) -> pd.DataFrame:
        """Return a table, and raise a `LookupError` if it does not apply to this run."""
        found = self.table(name)
        if found is None:
            raise LookupError(f"this run has no table {name!r}")
        return found

    def frames(self, name: str) -> Iterator[pd.DataFrame]:
        """Return an iterator over the parts of a table, which is empty if the table does not apply to this run."""
        table = TABLES[name]
        if name not in self._built:
            found = table.rows(self)
            if isinstance(found, Iterator):  # too large to be kept in memory
                return (conform(table, frame) for frame in found)
            self._built[name] = None if found is None else conform(table, found)
        built = self._built[name]
        return iter(() if built is None else (built,))


def frame_of(rows: Iterable[Mapping[str, object]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows as a DataFrame with typed columns; missing values become NA."""
    return _typed(pd.DataFrame(list(rows), columns=[column.name for column in columns]), columns)


def conform(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a DataFrame with the columns of a table in their order and with their types.

    Raises
    ------
    ValueError
        If a column is missing or unknown.
    """
    columns = [found for column in table.columns for found in column.expand(map(str, frame))]
    names = [column.name for column in columns]
    if unknown := [str(name) for name in frame if name not in names]:
        raise ValueError(
            f"the rows of the table {table.name!r} have the unknown column {unknown[0]!r}. "
            f"Known columns: {', '.join(names)}"
        )
    if missing := [name for name in names if name not in frame and name not in table.optional]:
        raise ValueError(
            f"the rows of the table {table.name!r} lack the column {missing[0]!r}. Add it, or list it in `optional`"
        )
    present = [column for column in columns if column.name in frame]
    return _typed(frame[[column.name for column in present]], present)


def _typed(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    return frame.astype({column.name: column.pandas_type for column in columns if column.pandas_type})


def concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the rows of frames; frames without rows, whose text columns have no type, are left out."""
    return pd.concat([frame for frame in frames if len(frame)] or list(frames), ignore_index=True)
