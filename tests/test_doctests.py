"""The examples in docstrings, module by module."""

import doctest
import importlib
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OPTIONAL = {
    re.split(r"[^\w-]", requirement)[0].replace("-", "_")
    for extra in PYPROJECT["project"]["optional-dependencies"].values()
    for requirement in extra
}
"""Libraries that may be missing."""


def folders() -> dict[str, Path]:
    """Return the folder of each package, as pyproject.toml maps them."""
    mapped: dict[str, str] = PYPROJECT["tool"]["setuptools"]["package-dir"]
    found = {}
    for package in PYPROJECT["tool"]["setuptools"]["packages"]:
        above = max((name for name in mapped if f"{package}.".startswith(f"{name}.")), key=len)
        below = package.removeprefix(above).strip(".")
        found[package] = ROOT.joinpath(mapped[above], *below.split(".") if below else ())
    return found


def examples() -> dict[str, int]:
    """Return the number of examples in the text of each module that has some."""
    counts = {
        package if path.stem == "__init__" else f"{package}.{path.stem}": path.read_text().count(">>> ")
        for package, folder in folders().items()
        for path in sorted(folder.glob("*.py"))
    }
    return {name: count for name, count in counts.items() if count}


def imported(name: str) -> ModuleType:
    """Import a module; skip the test if it needs an optional library that is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = (error.name or "").partition(".")[0]
        if library in OPTIONAL and find_spec(library) is None:
            pytest.skip(f"needs {library}")
        raise


@pytest.mark.parametrize(("name", "count"), examples().items(), ids=examples())
def test_examples_give_the_documented_output(
    name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = imported(name)
    tests = doctest.DocTestFinder().find(module, name)
    assert sum(len(test.examples) for test in tests) == count, "an example is not found: is it in a docstring?"
    runner, output = doctest.DocTestRunner(), list[str]()
    for test in tests:
        runner.run(test, out=output.append)
    assert runner.tries
    assert not runner.failures, "".join(output)
