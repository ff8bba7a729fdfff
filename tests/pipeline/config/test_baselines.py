"""Baselines and final fits in configs."""

import pytest

from kernel_pipeline.config.loading import config_digest, config_values, parse_stored_config, to_toml
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.tasks.weights.hsic import Hsic
from tests.helpers.build import parsed, synthetic_values


def config(**changes: object) -> Config:
    values = synthetic_values() | changes
    del values["baselines"]
    return parsed(values | {key: value for key, value in changes.items() if key == "baselines"})


def names(found: Config) -> list[str]:
    return [method.method_id for method in found.used_methods]


def test_baselines_of_the_tasks_are_added_by_default() -> None:
    assert names(config()) == ["unif", "alignf", "best-single", "linear", "mean"]
    assert names(config(baselines=False)) == ["unif", "alignf"]
    assert names(config(methods=["mean", "unif"])) == ["mean", "unif", "best-single", "linear"]
    assert names(config(methods=["linear"], baselines=False)) == ["linear"]


def test_a_method_is_a_baseline_if_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hsic, "is_baseline", True)
    assert names(config()) == ["unif", "alignf", "hsic", "best-single", "linear", "mean"]
    description = Config.model_json_schema()["properties"]["baselines"]["description"]
    assert description == (
        "whether the methods 'hsic', 'best-single', 'linear', 'majority', 'mean' are added to the list for comparison"
    )


def test_the_config_keeps_the_listed_methods() -> None:
    values = config_values(config())
    assert values["methods"] == ["unif", "alignf"]
    assert values["baselines"] is True
    assert values["fit"]["refit"] == "train"


def test_the_digest_depends_on_baselines_and_final_fits() -> None:
    assert config_digest(config()) == config_digest(config(baselines=True, fit={"refit": "train"}))
    others = (config(baselines=False), config(fit={"refit": "train+validation"}))
    assert len({config_digest(found) for found in (config(), *others)}) == 3


def test_a_run_of_a_version_without_baselines_has_none() -> None:
    text = to_toml(config(baselines=False))
    without = text.replace("baselines = false\n", "")
    assert without != text
    assert parse_stored_config(without, "a test") == config(baselines=False)
    assert parse_stored_config(to_toml(config()), "a test") == config()
