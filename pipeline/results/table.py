"""Tables: the base class of all result tables, and the registry to which new ones are added."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from kernel_pipeline.results.columns import Column
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

    from kernel_pipeline.results.context import TableContext

BUILT_IN = ("rows", "path", "bounds", "kernels", "correlation", "notes", "timings", "summary")
"""Modules of `kernel_pipeline.results.tables`; each registers the table of its name."""


class Table(ABC):
    """One result table, which a finished run writes to `results/<name>.<format>`.

    Subclasses set `name` and `columns` and implement `rows`. An instance is added to the registry with `register`.
    """

    name: ClassVar[str]
    """Name of the table, and of its files without their extension."""
    version: ClassVar[int] = 1
    """Version of a table that is not part of this package; raise it when the table changes for the same results."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """All columns that the table may have, in their order."""

    @property
    def optional(self) -> tuple[str, ...]:
        """Names of columns that the table of a run may lack."""
        return ()

    @abstractmethod
    def rows(self, context: "TableContext") -> "pd.DataFrame | Iterator[pd.DataFrame] | None":
        """Return the rows of the table.

        The result is a DataFrame, or, for a table that should not be in memory as a whole, an iterator of DataFrames
        that follow each other; None if the table does not apply to the run, which then has no such file. Columns may
        be in any order.
        """

    @property
    def renderers(self) -> "Mapping[str, Callable[[pd.DataFrame], bytes]]":
        """Functions that turn the whole table into the content of a file, by extension, besides `csv`."""
        return {}

    @property
    def files(self) -> tuple[str, ...]:
        """Keys of all files of the table in the run directory."""
        return tuple(f"{RESULTS}/{self.name}.{extension}" for extension in ("csv", *self.renderers))


TABLES: Registry[Table] = Registry("table", tuple(f"kernel_pipeline.results.tables.{name}" for name in BUILT_IN))


def register(table: Table) -> Table:
    """Add a table to the registry.

    Raises
    ------
    ValueError
        If the name is taken or is not an identifier.
    """
    if not table.name.isidentifier():
        raise ValueError(f"the name of a table is an identifier, which {table.name!r} is not")
    return TABLES.register(table.name)(table)
