"""Define the console of commands, which escapes control characters in text from run directories and data files."""

from typing import Any

from rich.console import Console

from kernel_pipeline.text import printable


class PlainConsole(Console):
    """A console that shows control characters in text as escape sequences; the styles of rich are not affected."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print objects; control characters in cells of tables must be escaped by the caller."""
        super().print(*(printable(item) if isinstance(item, str) else item for item in objects), **options)


def print_line(console: Console, text: str) -> None:
    """Print text without markup, highlighting or wrapping."""
    console.print(text, highlight=False, soft_wrap=True, markup=False)
