"""Where commands print: texts from run directories and data files reach it without control characters."""

from typing import Any

from rich.console import Console

from kernel_pipeline.text import printable


class PlainConsole(Console):
    """A console that shows control characters in texts instead of sending them; rich's own styles are not concerned."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; of rich's tables the cells have to be printable already."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)
