"""What tables are built from: the plan, the finished tasks, the stored arrays and other tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import pandas as pd

from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.columns import Column
from kernel_pipeline.results.notes import result_notes
from kernel_pipeline.results.table import TABLES, Table
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.reports import Finished


class TableContext:
    """Sources of the tables of one run. Each table is built when it is first asked for."""

    def __init__(self, plan: Plan, finished: Mapping[str, Finished], store: RunStore) -> None:
        self.plan, self.finished, self.store = plan, finished, store
        self._built: dict[str, pd.DataFrame | None] = {}

    @cached_property
    def notes(self) -> list[Note]:
        """Notes about the results, from the finished tasks."""
        return result_notes(self.plan, self.finished)

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a whole table; None if it does not apply to this run."""
        frames = list(self.frames(name))
        return concatenate(frames) if len(frames) > 1 else next(iter(frames), None)

    def whole(self, name: str) -> pd.DataFrame:
        """Return a table that applies to every run."""
        found = self.table(name)
        if found is None:
            raise LookupError(f"this run has no table {name!r}")
        return found

    def frames(self, name: str) -> Iterator[pd.DataFrame]:
        """Return the parts of a table one after the other; none if it does not apply to this run."""
        table = TABLES[name]
        if name not in self._built:
            found = table.rows(self)
            if isinstance(found, Iterator):  # too large to be kept
                return (conform(table, frame) for frame in found)
            self._built[name] = None if found is None else conform(table, found)
        built = self._built[name]
        return iter(() if built is None else (built,))


class Results:
    """Read-only view of the tables of a run, for figures."""

    def __init__(self, context: TableContext) -> None:
        self._context = context

    @property
    def names(self) -> list[str]:
        """Names of all tables."""
        return list(TABLES)

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a copy of a table; None if it does not apply to this run."""
        found = self._context.table(name)
        return None if found is None else found.copy()


def frame_of(rows: Iterable[Mapping[str, object]], columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows as a DataFrame with typed columns; a value that a row lacks is a gap."""
    return _typed(pd.DataFrame(list(rows), columns=[column.name for column in columns]), columns)


def conform(table: Table, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a DataFrame with the columns of a table in their order and with their types.

    Raises
    ------
    ValueError
        If a column is missing or unknown.
    """
    names = [column.name for column in table.columns]
    if unknown := [str(name) for name in frame if name not in names]:
        raise ValueError(f"the table {table.name!r} has no column {unknown[0]!r}")
    if missing := [name for name in names if name not in frame and name not in table.optional]:
        raise ValueError(f"the table {table.name!r} lacks its column {missing[0]!r}")
    present = [column for column in table.columns if column.name in frame]
    return _typed(frame[[column.name for column in present]], present)


def _typed(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    return frame.astype({column.name: column.pandas_type for column in columns if column.pandas_type})


def concatenate(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return frames one below the other; those without rows, whose texts have no type, are left out."""
    return pd.concat([frame for frame in frames if len(frame)] or list(frames), ignore_index=True)
