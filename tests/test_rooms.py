"""The direction of dependencies: each subpackage imports only from those to its left."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = "kernel_pipeline"
TASKS = ("tasks", "tasks.kernels", "tasks.statistics", "tasks.weights", "tasks.learners")
SUBPACKAGES = (
    *(*TASKS, "cluster", "", "config", "store", "data", "estimators", "models"),
    *("stages", "plan", "results", "run", "cli"),
)
"""All subpackages, in the order of the flow of data; "" stands for the top-level modules, such as `errors`."""
DASK = {"dask", "distributed", "dask_mpi", "mpi4py", "cloudpickle", "cryptography", "psutil"}
BLAS = {"scipy", "threadpoolctl"}
LIBRARIES = {
    "tasks": {"numpy", "scipy", "sklearn", "osqp"},
    "cluster": {"pydantic"} | DASK | BLAS,  # the latter to limit the threads of a worker
}
"""Libraries that a folder may import, besides the standard library; it imports no other folder of this package."""


def modules() -> dict[str, Path]:
    """Return all modules by their name below the package."""
    found = {}
    for folder, prefix in (("tasks", "tasks."), ("cluster", "cluster."), ("pipeline", "")):
        for path in (ROOT / folder).rglob("*.py"):
            name = prefix + ".".join(path.relative_to(ROOT / folder).with_suffix("").parts)
            found[name.removesuffix("__init__").rstrip(".")] = path
    return found


MODULES = modules()
PUBLIC = ("", "__main__", "api")
"""Modules that users import or run, which may use everything."""


def imported(path: Path) -> set[str]:
    """Return the names of all modules that a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def position(module: str) -> int:
    """Return the position of the subpackage of a module in this order."""
    parts = module.split(".")
    known = [".".join(parts[:length]) for length in (2, 1) if ".".join(parts[:length]) in SUBPACKAGES]
    return SUBPACKAGES.index(known[0] if known else "")


@pytest.mark.parametrize("module", [name for name in MODULES if name not in PUBLIC])
def test_a_subpackage_imports_only_from_those_to_its_left(module: str) -> None:
    inner = {name.removeprefix(f"{PACKAGE}.") for name in imported(MODULES[module]) if name.startswith(f"{PACKAGE}.")}
    wrong = {name for name in inner if name in MODULES and position(name) > position(module)}
    assert not wrong


@pytest.mark.parametrize("module", [name for name in MODULES if not name.startswith("cli")])
def test_only_the_command_line_prints(module: str) -> None:
    libraries = {name.partition(".")[0] for name in imported(MODULES[module])}
    assert not libraries & {"click", "rich"}
    calls = (node.func for node in ast.walk(ast.parse(MODULES[module].read_text())) if isinstance(node, ast.Call))
    assert "print" not in {function.id for function in calls if isinstance(function, ast.Name)}


@pytest.mark.parametrize("module", [name for name in MODULES if name.partition(".")[0] in LIBRARIES])
def test_a_folder_imports_only_the_libraries_it_may(module: str) -> None:
    folder = module.partition(".")[0]
    outside = {name for name in imported(MODULES[module]) if not f"{name}.".startswith(f"{PACKAGE}.{folder}.")}
    assert {
        name for name in outside if name.partition(".")[0] not in sys.stdlib_module_names | LIBRARIES[folder]
    } == set()
