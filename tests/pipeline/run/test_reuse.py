"""If a config only adds to that of an existing run, the run is reported with the command that reuses it."""

import os
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.events import ReusableRun
from kernel_pipeline.run.directory import default_directory
from kernel_pipeline.run.reuse import find_reusable_runs
from tests.helpers.sweeps import plan_in
from tests.pipeline.api.test_running import TINY


def tiny(**changes: Any) -> Config:
    return parse_config(TINY | changes, "a test")


@pytest.fixture(autouse=True)
def _folder_with_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan_in(default_directory(tiny()), tiny())


OTHER = TINY["dataset"][0] | {"name": "other"}


@pytest.mark.parametrize(
    ("changes", "additions"),
    [
        ({"methods": ["unif", "alignf"]}, ("methods: 'alignf'",)),
        ({"methods": ["align", "unif"], "description": "more"}, ("methods: 'align'",)),
        ({"dataset": [OTHER, *TINY["dataset"]]}, ("dataset: 'other'",)),
        ({"baselines": True}, ("baselines",)),
    ],
)
def test_a_config_that_only_adds_finds_the_run(changes: dict[str, Any], additions: tuple[str, ...]) -> None:
    (found,) = find_reusable_runs(tiny(**changes))
    assert found.location == str(default_directory(tiny()))
    assert found.additions == additions


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"seed": 1},
        {"methods": ["alignf"]},
        {"methods": ["unif", "alignf"], "seed": 1},
        {"name": "another", "methods": ["unif", "alignf"]},
        {"dataset": [TINY["dataset"][0] | {"rows": 31}]},
        {"dataset": [OTHER]},
        {"dataset": [TINY["dataset"][0] | {"kernels": [*TINY["dataset"][0]["kernels"], {"family": "linear"}]}]},
    ],
)
def test_a_config_that_changes_anything_else_finds_nothing(changes: dict[str, Any]) -> None:
    assert find_reusable_runs(tiny(**changes)) == []


def test_directories_that_are_not_runs_are_ignored() -> None:
    Path("runs/tiny-folder").mkdir()
    Path("runs/tiny-broken").mkdir()
    Path("runs/tiny-broken/config.toml").write_bytes(b"\xff = ")
    Path("runs/tiny-file").touch()
    assert len(find_reusable_runs(tiny(methods=["unif", "alignf"]))) == 1


@pytest.mark.parametrize("changes", [{"seed": 1}, {"methods": ["alignf"]}, {"dataset": [OTHER]}])
def test_if_changes_are_accepted_the_latest_run_with_other_changes_is_found(changes: dict[str, Any]) -> None:
    earlier, latest = default_directory(tiny()), default_directory(tiny(seed=2))
    plan_in(latest, tiny(seed=2))
    os.utime(earlier, (0, 0))
    assert find_reusable_runs(tiny(**changes), accept_changes=True) == [ReusableRun(str(latest), ())]
    os.utime(latest, (-9, -9))
    assert find_reusable_runs(tiny(**changes), accept_changes=True) == [ReusableRun(str(earlier), ())]


def test_a_run_to_which_a_config_only_adds_takes_precedence() -> None:
    plan_in(default_directory(tiny(seed=2)), tiny(seed=2))
    (found,) = find_reusable_runs(tiny(methods=["unif", "alignf"]), accept_changes=True)
    assert found.additions == ("methods: 'alignf'",)


@pytest.mark.parametrize("changes", [{}, {"description": "more"}, {"name": "another", "seed": 1}, {"name": "tin"}])
def test_a_run_of_the_same_or_of_another_sweep_is_not_found(changes: dict[str, Any]) -> None:
    plan_in(Path("runs/tin-of-another-sweep"), tiny(name="tin-of"))
    assert find_reusable_runs(tiny(**changes), accept_changes=True) == []


def test_the_command_reports_that_a_new_run_starts_although_changes_are_accepted() -> None:
    Path("other.toml").write_text(tomli_w.dumps(TINY | {"seed": 1}))
    command = ["run", "other.toml", "--cluster", "threads", "--workers", "1", "--accept-changes"]
    old = default_directory(tiny())
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(
        f"note: a new run starts, since this config differs from that of the run in {old} by more than additional "
        f"methods and datasets. To reuse what is finished there: `pipeline run other.toml --out {old} "
        "--accept-changes`\n"
    )
    for again in (command, [*command, "--out", str(old)]):
        done = CliRunner().invoke(main, again)
        assert done.exit_code == 0, done.output
        assert "a new run starts" not in done.output


@pytest.mark.parametrize("options", [(), ("--accept-changes",)])
def test_the_command_reports_the_run_and_how_to_reuse_it(options: tuple[str, ...]) -> None:
    Path("more.toml").write_text(tomli_w.dumps(TINY | {"methods": ["unif", "align"]}))
    done = CliRunner().invoke(main, ["run", "more.toml", "--cluster", "threads", "--workers", "1", *options])
    assert done.exit_code == 0, done.output
    old = default_directory(tiny())
    assert done.output.startswith(
        f"note: this config only adds to the run in {old} (methods: 'align'). To reuse what is finished there: "
        f"`pipeline run more.toml --out {old} --accept-changes`\n"
    )
    reused = CliRunner().invoke(main, ["run", "more.toml", "--cluster", "threads", "--out", str(old), *options])
    assert reused.exit_code == (0 if options else 4), reused.output
    assert "this config only adds" not in reused.output
