"""Define the base class of result tables, and their registry."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Literal

from kernel_pipeline.results.columns import Column
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.tasks.registry import NamedRegistry

if TYPE_CHECKING:
    import pandas as pd

    from kernel_pipeline.results.context import TableContext

BUILT_IN = (
    "rows",
    "path",
    "outputs",
    "bounds",
    "kernels",
    "weights",
    "correlation",
    "notes",
    "timings",
    "summary",
    "comparison",
    "significance",
    "ranks",
    "nemenyi",
    "predictions",
    "confusion",
)
"""Modules of `kernel_pipeline.results.tables`; each registers the table of the same name."""


class Table(ABC):
    """One result table, which a finished run writes to `results/<name>.<format>`.

    Subclasses set `name` and `columns` and implement `rows`. An instance is added to the registry with `register`.
    """

    name: ClassVar[str]
    """Name of the table, and of its files without their extension."""
    main_format: ClassVar[Literal["csv", "parquet"]] = "csv"
    """Format of the file that is always written; both formats can be written part by part."""
    version: ClassVar[int] = 1
    """Version of a table that is not part of this package.

    Increase it when a change of the code gives another table for the same results.
    """

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """Return all columns that the table may have, in their order."""

    @property
    def optional(self) -> tuple[str, ...]:
        """Return the names of columns that may be absent from the table of a run."""
        return ()

    @abstractmethod
    def rows(self, context: "TableContext") -> "pd.DataFrame | Iterator[pd.DataFrame] | None":
        """Return the rows of the table.

        The result is a DataFrame, or, for a table that may not fit in memory, an iterator over consecutive DataFrames;
        None if the table does not apply to the run, which then has no such file. Columns may be in any order.
        """

    @property
    def renderers(self) -> "Mapping[str, Callable[[pd.DataFrame], bytes]]":
        """Return functions that convert the table to the content of further files, by extension."""
        return {}

    @property
    def files(self) -> tuple[str, ...]:
        """Return the keys of all files of the table in the run directory."""
        return tuple(f"{RESULTS}/{self.name}.{extension}" for extension in (self.main_format, *self.renderers))


TABLES: NamedRegistry[Table] = NamedRegistry(
    "table", tuple(f"kernel_pipeline.results.tables.{name}" for name in BUILT_IN)
)
register = TABLES.add
