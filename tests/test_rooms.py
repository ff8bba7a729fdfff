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
BY_NAME = {
    ("config.datasets", "data.sources"): "the registry of data sources imports them when a config is validated",
    ("config.other_formats", "data.formats"): "the registry of extensions imports the file formats when it is read",
    ("callable_module", "api"): "a subpackage is called like the function of the public API of the same name",
    ("tasks.weights.method", "tasks.learners"): "the registry of methods imports them when it is read",
}
"""Modules that name a module to their right, or those of a subpackage, in strings; with the reason."""


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


def strings(path: Path) -> set[str]:
    """Return the string constants of a file, which may be names of modules that it imports with `import_module`."""
    constants = (node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
    return {text.rstrip(".") for text in constants if isinstance(text, str)}  # an f-string may add the last part


def is_below(module: str, package: str) -> bool:
    """Return whether a module is a package or in it."""
    return f"{module}.".startswith(f"{package}.")


def position(module: str) -> int:
    """Return the position of the subpackage of a module in this order."""
    parts = module.split(".")
    known = [".".join(parts[:length]) for length in (2, 1) if ".".join(parts[:length]) in SUBPACKAGES]
    return SUBPACKAGES.index(known[0] if known else "")


def to_the_right(module: str, names: set[str]) -> set[str]:
    """Return those names that are modules to the right of a module, or modules that may use everything."""
    below = {name.removeprefix(f"{PACKAGE}.") for name in names if name.startswith(f"{PACKAGE}.")}
    return {name for name in below & MODULES.keys() if name in PUBLIC or position(name) > position(module)}


@pytest.mark.parametrize("module", [name for name in MODULES if name not in PUBLIC])
def test_a_subpackage_imports_only_from_those_to_its_left(module: str) -> None:
    assert not to_the_right(module, imported(MODULES[module]))


def test_strings_name_modules_to_the_right_only_where_it_is_intended() -> None:
    inside = MODULES.keys() - set(PUBLIC)
    found = {(module, name) for module in inside for name in to_the_right(module, strings(MODULES[module]))}
    listed = {pair: [(own, to) for own, to in BY_NAME if own == pair[0] and is_below(pair[1], to)] for pair in found}
    assert not [pair for pair, exceptions in listed.items() if not exceptions]
    assert {pair for exceptions in listed.values() for pair in exceptions} == BY_NAME.keys()


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
