"""The console of commands, which shows texts of run directories and data files without control characters."""

from typing import Any

from rich.console import Console

from kernel_pipeline.text import printable


class PlainConsole(Console):
    """A console that shows control characters in texts as escapes; the styles of rich are not affected."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects. Cells of tables have to be printable already."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)
