"""The three rooms and their one direction: tasks know nothing of the others, cluster knows nothing of pipeline."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "tasks": {"pipeline", "cluster", "configs", "dask", "distributed", "click", "zarr", "pandas"},
    "cluster": {"pipeline", "tasks", "configs", "click", "zarr"},
}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", [path for room in FORBIDDEN for path in (ROOT / room).rglob("*.py")], ids=str)
def test_a_room_imports_only_what_it_may(path: Path) -> None:
    assert not imported(path) & FORBIDDEN[path.relative_to(ROOT).parts[0]]
