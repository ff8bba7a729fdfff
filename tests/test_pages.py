"""Links, commands, configs and code in the pages of the documentation."""

import ast
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.profiles import parse_profile
from kernel_pipeline.config.s3_address import parse_s3
from tests.helpers.build import GAUSSIAN, PROJECT
from tests.helpers.markdown import Block, anchors, blocks, links, pages, prose

LANGUAGES = {"sh", "toml", "python", "csv", "text"}


def parse_command(words: list[str]) -> None:
    """Parse a command line as `pipeline` does, without running it."""
    for word in words:
        if word.startswith("s3://"):
            parse_s3(word)
    arguments = ["runs" if word.startswith("s3://") else word for word in words[1:]]
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        name, found, arguments = command.resolve_command(context, arguments)
        assert name is not None
        assert found is not None
        command = found
        context = click.Context(command, context, info_name=name)
    command.parse_args(context, arguments)


def as_config(values: dict[str, Any]) -> dict[str, Any]:
    """Complete a part of a config, such as one dataset, to a whole one."""
    dataset: dict[str, Any] = {"name": "part", "task": "regression", "source": "synthetic", "rows": 20, "features": 30}
    dataset["kernels"] = values.pop("kernels", [GAUSSIAN])
    return {"name": "part", "methods": ["unif"], "dataset": [dataset]} | values


@pytest.mark.parametrize("page", pages(), ids=str)
def test_links_point_to_existing_files_and_headings(page: Path) -> None:
    for target in links(page):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        found = (PROJECT / page).parent / file if file else PROJECT / page
        assert found.exists(), target
        assert found.resolve().is_relative_to(PROJECT), target
        if anchor:
            assert anchor in anchors(found), target


@pytest.mark.parametrize("page", pages(), ids=str)
def test_blocks_have_a_language(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= LANGUAGES
    text = prose(page)
    assert "```" not in text
    assert "\n\n    " not in text, "an indented block, which the tests do not read"


@pytest.mark.parametrize("page", pages(), ids=str)
def test_commands_are_valid(page: Path) -> None:
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for block in blocks(page, "sh"):
        for words in block.commands():
            if words[0] == "pipeline":
                parse_command(words)
            elif words[:2] == ["pip", "install"]:
                package, _, extra = words[2].rstrip("]").partition("[")
                assert package in (".", "kernel-pipeline")
                assert extra in extras
            elif words[0] == ".venv/bin/python" and words[1] != "-m":
                assert (PROJECT / words[1]).is_file()


def toml_blocks() -> list[Any]:
    return [
        pytest.param(block, id=f"{page}-{number}")
        for page in pages()
        for number, block in enumerate(blocks(page, "toml"))
    ]


@pytest.mark.parametrize("block", toml_blocks())
def test_configs_and_profiles_are_valid(block: Block) -> None:
    values = tomllib.loads(block.text)
    if "backend" in values:
        parse_profile(values, "a page")
    elif "project" not in values:  # the pyproject.toml of a plug-in
        parse_config(as_config(values), "a page")


@pytest.mark.parametrize("page", pages(), ids=str)
def test_code_uses_existing_names_of_the_api(page: Path) -> None:
    for block in blocks(page, "python"):
        for node in ast.walk(ast.parse(block.text)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id == "kp":
                    assert node.attr in kp.__all__
                elif node.value.id == "run":
                    assert hasattr(kp.RunResults, node.attr)
