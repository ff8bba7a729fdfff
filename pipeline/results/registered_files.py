"""Identify the files of the registered tables and figures."""

from kernel_pipeline.results.figures.figure import FIGURES, is_figure_file
from kernel_pipeline.results.table import TABLES

TABLES_VERSION = 13
"""Version of the built-in tables and figures, increased when a change of the code alters one for the same results."""


def is_registered_file(key: str) -> bool:
    """Return whether a key is that of a file of a registered table or figure."""
    return is_figure_file(key) or any(key in table.files for table in TABLES.values())


def registered_versions() -> list[tuple[str, str, int]]:
    """Return kind, name and version of all registered tables and figures, sorted."""
    tables = [("table", entry.name, entry.version) for entry in TABLES.values()]
    return sorted(tables + [("figure", entry.name, entry.version) for entry in FIGURES.values()])
