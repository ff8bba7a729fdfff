"""The names of the public API: imported lazily, in any order, and known to type checkers."""

import ast
import subprocess
import sys
from inspect import getdoc, signature
from pathlib import Path

import pytest

import kernel_pipeline as kp

HEAVY = ("click", "dask", "distributed", "numpy", "pandas", "pydantic", "rich", "scipy", "sklearn", "zarr")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", kp.__all__)
def test_every_public_name_exists_and_is_listed(name: str) -> None:
    assert getattr(kp, name) is not None
    assert name in dir(kp)


def test_only_public_names_are_listed() -> None:
    assert [name for name in dir(kp) if not name.startswith("__")] == kp.__all__
    assert {"__doc__", "__version__"} <= set(dir(kp))


def test_the_three_lists_of_public_names_agree() -> None:
    tree = ast.parse(Path(kp.__file__).read_text())
    typed_block = next(node for node in tree.body if isinstance(node, ast.If))
    typed_imports = {
        alias.name: f"{node.module}".removeprefix("kernel_pipeline.")
        for node in typed_block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    callables = {name: typed_imports[name] for name in kp._CALLABLE_MODULES}
    assert kp._ORIGINS | callables == typed_imports
    assert sorted(kp.__all__) == kp.__all__ == sorted(typed_imports)


@pytest.mark.parametrize("name", ["run", "plan"])
def test_help_shows_the_function_of_a_callable_subpackage(name: str) -> None:
    from kernel_pipeline import api

    assert getattr(kp, name).__doc__ == getdoc(getattr(api, name))


def test_a_plan_has_a_short_representation() -> None:
    plan = kp.plan("default")
    assert repr(plan) == f"<Plan of 'default': {len(plan.tasks)} tasks on breast-cancer, diabetes, digits>"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'kernel_pipeline' has no attribute 'rum'"):
        _ = kp.rum  # type: ignore[attr-defined]


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        f"import sys, kernel_pipeline as kp; dir(kp); kp.PipelineError; print([n for n in {HEAVY} if n in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.parametrize(
    "first", ["", "import kernel_pipeline.run", "import kernel_pipeline.run.driver", "from kernel_pipeline import run"]
)
def test_run_can_be_called_whatever_was_imported_before(first: str) -> None:
    code = f"""
{first}
import kernel_pipeline as kp
try:
    kp.run("no-such-config")
except kp.ConfigError as error:
    print(error)
"""
    assert python(code).startswith("there is no config 'no-such-config'")


@pytest.mark.parametrize("first", ["", "import kernel_pipeline.plan.plan", "from kernel_pipeline.plan import plan"])
def test_plan_can_be_called_whatever_was_imported_before(first: str) -> None:
    code = f"""
{first}
import kernel_pipeline as kp
print(kp.plan("default").config.name)
"""
    assert python(code) == "default"


def test_callable_subpackages_have_the_signature_of_the_function() -> None:
    assert list(signature(kp.run).parameters)[:4] == ["config", "cluster", "out", "listeners"]
    assert list(signature(kp.plan).parameters) == ["config", "data_dir", "settings"]


def typed() -> tuple[str, int]:
    """Let mypy check that `run` and `plan` are the functions, not the subpackages."""
    run: kp.RunResults = kp.run("default", cluster="local", out=None, listeners=())
    plan: kp.Plan = kp.plan(run.config)
    return run.directory, len(plan.tasks)
