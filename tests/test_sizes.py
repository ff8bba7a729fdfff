"""Modules and functions are short enough to be read at once."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_MODULE_LINES = 300
MAX_FUNCTION_LINES = 60
MODULES = sorted(path for folder in ("pipeline", "tasks", "cluster") for path in (ROOT / folder).rglob("*.py"))


def too_long(source: str) -> Iterator[tuple[str, int]]:
    """Yield the module and the functions that are too long in a source, with their numbers of lines."""
    lines = len(source.splitlines())
    if lines > MAX_MODULE_LINES:
        yield "module", lines
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min(part.lineno for part in (node, *node.decorator_list))
            length = (node.end_lineno or first) - first + 1  # including decorators and the docstring
            if length > MAX_FUNCTION_LINES:
                yield node.name, length


@pytest.mark.parametrize("path", MODULES, ids=[str(path.relative_to(ROOT)) for path in MODULES])
def test_modules_and_functions_are_short(path: Path) -> None:
    assert list(too_long(path.read_text())) == []


def test_long_modules_and_functions_are_found() -> None:
    def function(lines: int) -> str:
        return "def example():\n" + "    pass\n" * (lines - 1)

    assert list(too_long("x = 1\n" * MAX_MODULE_LINES)) == []
    assert list(too_long("x = 1\n" * (MAX_MODULE_LINES + 1))) == [("module", MAX_MODULE_LINES + 1)]
    longer = function(MAX_FUNCTION_LINES + 1)
    assert list(too_long(function(MAX_FUNCTION_LINES))) == []
    for source in (longer, f"async {longer}", "@cache\n" + function(MAX_FUNCTION_LINES)):
        assert list(too_long(source)) == [("example", MAX_FUNCTION_LINES + 1)]
