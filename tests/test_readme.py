"""The README: its length, and all of its commands and code, executed on the table that it describes."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from tests.helpers.build import PROJECT
from tests.helpers.markdown import blocks
from tests.test_pages import parse_command

README = PROJECT / "README.md"
EXAMPLE = "runs/clinic-1a2b3c4d"
NOT_RUN = ("submit", "s3://", "run clinic.toml --cluster slurm")
"""Commands that need a batch system or an object store; they are parsed."""


def commands() -> list[str]:
    """Return the lines that start with `pipeline`, without comments."""
    return [" ".join(words) for block in blocks("README.md", "sh") for words in block.commands() if len(words) > 1]


def table() -> str:
    """Return the example table, continued to 40 rows whose outcome depends on the age."""
    head = blocks("README.md", "csv")[0].text
    rows = [
        f"p{number},{20 + number},{'fm'[number % 2]},{100 + 7 * number % 50},{('yes', 'no', '')[number % 3]},"
        f"{'ill' if number > 20 else 'healthy'}\n"
        for number in range(3, 41)
    ]
    return head + "".join(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the table and the config of the README, and its run."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "clinic.csv").write_text(table())
    (folder / "new.csv").write_text(table())
    (folder / "clinic.toml").write_text(blocks("README.md", "toml")[0].text)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PIPELINE_DATA_DIR", raising=False)
        run = kp.run("clinic.toml", cluster="threads")
    assert run.is_complete
    return folder


def test_the_readme_has_at_most_200_lines() -> None:
    assert len(README.read_text().splitlines()) <= 200


def test_the_first_two_commands_are_those_of_continuous_integration() -> None:
    script = (PROJECT / ".ci/run").read_text().splitlines()
    first, second, *_ = blocks("README.md", "sh")
    assert first.text.strip() in script
    assert second.text.strip() in script
    assert "pipeline run --cluster local" in first.text
    assert "-m pytest" in second.text


def test_all_blocks_are_covered_by_these_tests() -> None:
    counts = {language: len(blocks("README.md", language)) for language in ("csv", "toml", "python", "text")}
    assert counts == {"csv": 1, "toml": 1, "python": 2, "text": 0}


@pytest.mark.parametrize("line", [line for line in commands() if line.startswith("pipeline ")])
def test_commands_run(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PIPELINE_DATA_DIR", raising=False)
    if any(part in line for part in NOT_RUN):
        parse_command(line.split())
        return
    (directory,) = folder.glob("runs/clinic-*")
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    arguments = line.replace(EXAMPLE, str(directory)).split()[1:]
    if arguments[0] in ("run", "resume"):
        arguments += ["--cluster", "threads"]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert bool(opened) == ("--open" in line)


def test_a_finished_run_is_opened_from_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(blocks("README.md", "python")[0].text, names)
    methods = tomllib.loads((folder / "clinic.toml").read_text())["methods"]
    assert list(names["run"].summary["method"])[: len(methods)] == methods  # baselines follow
    weights = names["run"].weights("clinic", "alignf")
    assert (weights[weights.columns[1:]] >= 0).all(axis=None)


def test_the_estimator_learns() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(60, 3))
    names: dict[str, Any] = {"X": X, "y": np.sin(X[:, 0])}
    exec(blocks("README.md", "python")[1].text, names)
    assert names["model"].score(X, names["y"]) > 0.9
