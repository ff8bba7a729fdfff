"""Identify the files of the registered tables and figures."""

from kernel_pipeline.results.figures.figure import FIGURES, is_figure_file
from kernel_pipeline.results.table import TABLES

TABLES_VERSION = 5
"""Version of the built-in tables and figures, increased when they change for the same results."""


def is_output(key: str) -> bool:
    """Return whether a key is that of a file of a registered table or figure."""
    return is_figure_file(key) or any(key in table.files for table in TABLES.values())


def extensions() -> list[tuple[str, str, int]]:
    """Return kind, name and version of the registered tables and figures that are not part of this package."""
    package = __name__.partition(".")[0]
    registered = [("table", entry) for entry in TABLES.values()] + [("figure", entry) for entry in FIGURES.values()]
    return [
        (kind, entry.name, entry.version)
        for kind, entry in registered
        if type(entry).__module__.partition(".")[0] != package
    ]
