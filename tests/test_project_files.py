"""Files for maintainers: they agree with pyproject.toml, the README and each other."""

import re
import tomllib
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kernel_pipeline as kp
from tests.helpers.build import PROJECT
from tests.helpers.markdown import blocks

PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
COMPONENTS = next(found for found in map(Requirement, EXTRAS["components"]) if found.name == "kernel-pipeline")
TESTED_EXTRAS = (*sorted(COMPONENTS.extras), "test")
"""Extras that the tests install."""


def requirements() -> list[Requirement]:
    """Return the dependencies of the package and of the tests."""
    lines = [*PYPROJECT["project"]["dependencies"], *(line for extra in TESTED_EXTRAS for line in EXTRAS[extra])]
    return [Requirement(line) for line in lines]


def pins(name: str) -> dict[str, str]:
    """Return the versions in a constraints file."""
    lines = [line for line in (PROJECT / name).read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}


def read_yaml(name: str) -> Any:
    return yaml.safe_load((PROJECT / name).read_text())


def test_the_oldest_dependencies_are_the_lower_bounds() -> None:
    bounds = {
        canonicalize_name(requirement.name): bound.version
        for requirement in requirements()
        for bound in requirement.specifier
        if bound.operator == ">="
    }
    assert pins("tests/oldest.txt") == bounds


def test_the_tested_versions_are_allowed() -> None:
    tested = pins("tests/constraints.txt")
    for requirement in requirements():
        if requirement.name != "setuptools":  # pip freeze leaves it out
            assert tested[canonicalize_name(requirement.name)] in requirement.specifier, requirement


def test_the_workflow_runs_the_commands_of_the_readme() -> None:
    workflow = read_yaml(".github/workflows/ci.yml")
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    for block in blocks("README.md", "sh")[:2]:
        assert block.text.strip() in commands
    script = (PROJECT / ".ci/run").read_text()
    assert all(command in commands for command in script.splitlines() if command.startswith(".venv/bin/python -m"))
    checks = [step["run"] for step in workflow["jobs"]["checks-and-reference"]["steps"] if "run" in step][2:]
    assert all(command.removesuffix(" build/reference") in script for command in checks)
    for command in commands:
        for file in re.findall(r"(?<=python )\.ci/\S+|(?<=-r )\S+", command):
            assert (PROJECT / file).is_file()
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)


def test_the_workflow_covers_all_versions_of_python() -> None:
    matrix = read_yaml(".github/workflows/ci.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13"]
    assert [entry["constraints"] for entry in matrix["include"]] == ["tests/oldest.txt", "tests/constraints.txt"]


def test_hooks_use_tools_of_the_environment() -> None:
    (local,) = read_yaml(".pre-commit-config.yaml")["repos"]
    tools = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in local["hooks"]}
    assert tools == {"ruff", "mypy", "codespell"}
    assert tools <= {Requirement(line).name for line in EXTRAS["dev"] + EXTRAS["test"]}


def test_the_version_is_the_same_everywhere() -> None:
    citation = read_yaml("CITATION.cff")
    assert kp.__version__ == PYPROJECT["project"]["version"] == citation["version"]
    assert citation["license"] == PYPROJECT["project"]["license"]
    assert f"\n## {kp.__version__} " in (PROJECT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_templates_of_issues_have_named_fields(name: str) -> None:
    template = read_yaml(f".github/ISSUE_TEMPLATE/{name}")
    assert template["name"]
    assert template["description"]
    identifiers = [field["id"] for field in template["body"] if field["type"] != "markdown"]
    assert len(identifiers) == len(set(identifiers))
