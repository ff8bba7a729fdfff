"""Files that the registered tables and figures write."""

from kernel_pipeline.results.figures.figure import FIGURES, figure_file
from kernel_pipeline.results.table import TABLES

TABLES_VERSION = 2
"""Raised when the built-in tables or figures change for the same results."""


def output_files() -> set[str]:
    """Return the keys of all files that the registered tables and figures may write."""
    return {key for table in TABLES.values() for key in table.files} | set(map(figure_file, FIGURES))


def extensions() -> list[tuple[str, str, int]]:
    """Return kind, name and version of the registered tables and figures that are not part of this package."""
    package = __name__.partition(".")[0]
    registered = [("table", entry) for entry in TABLES.values()] + [("figure", entry) for entry in FIGURES.values()]
    return [
        (kind, entry.name, entry.version)
        for kind, entry in registered
        if type(entry).__module__.partition(".")[0] != package
    ]
