"""Configs are read from files and by name, and written as TOML."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.config.loading import config_digest, read_config, shipped_configs, to_toml
from kernel_pipeline.config.views import gram_families
from kernel_pipeline.errors import ConfigError
from tests.helpers.build import config_values, parsed, put, put_config, synthetic_values
from tests.pipeline.config.full_config import FULL
from tests.tasks.methods import ONE_STAGE


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_are_valid_and_have_the_name_of_their_file(name: str) -> None:
    config, folder = read_config(name)
    assert config.name == name
    assert config.description
    assert folder == Path.cwd()
    assert parsed(tomllib.loads(to_toml(config))) == config


def test_default_config_is_the_one_without_a_name_and_needs_no_data_files() -> None:
    assert read_config(None) == read_config("default")
    assert {dataset.source for dataset in read_config(None)[0].dataset} <= {"sklearn", "synthetic"}


def test_data_are_looked_up_in_the_folder_of_the_config_file(tmp_path: Path) -> None:
    config, folder = read_config(str(put_config(tmp_path, FULL)))
    assert config == parsed(FULL)
    assert folder == tmp_path


def test_a_file_takes_precedence_over_a_shipped_config_of_the_same_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put_config(tmp_path, FULL, "default")
    assert read_config("default")[0].name == "full"


def test_defaults() -> None:
    config = parsed(config_values(path="x"))
    assert config.seed == 0
    assert config.storage.tile == 512
    assert config.fit.path("regression") == [(2.0**e,) for e in range(0, -31, -2)]
    assert config.fit.path("classification") == [(2.0**e,) for e in range(-4, 19, 2)]
    assert config.fit.path("classification", ONE_STAGE["l1-svm"]) == [(2.0**e,) for e in range(-4, 19, 2)]
    assert config.fit.path("regression", ONE_STAGE["l2-krr"]) == [(2.0**e,) for e in range(0, 31, 2)]
    assert config.fit.path("regression", ONE_STAGE["align-krr"]) == [
        (2.0**gamma, 2.0**gamma1, 2.0**gamma2)
        for gamma in (-6, 0)
        for gamma1 in (-40, -20)
        for gamma2 in range(-8, -41, -4)
    ]
    assert config.dataset[0].rows is None
    assert [name for family in gram_families(config.dataset[0], None) for name in family.names()] == [
        "gaussian(2^-1)",
        "gaussian(2^0)",
    ]


def test_one_task_may_be_written_without_a_list() -> None:
    assert parsed(config_values(task="regression")) == parsed(config_values(task=["regression"]))


@pytest.mark.parametrize("values", [FULL, config_values(), synthetic_values()], ids=["full", "file", "synthetic"])
def test_resolved_toml_reads_back_as_the_same_config(values: dict[str, Any]) -> None:
    config = parsed(values)
    again = parsed(tomllib.loads(to_toml(config)))
    assert again == config
    assert to_toml(again) == to_toml(config)
    assert config_digest(again) == config_digest(config)


def test_resolved_toml_has_every_default() -> None:
    values = tomllib.loads(to_toml(parsed(synthetic_values())))
    assert values["seed"] == 0
    assert values["fit"]["krr"] == {"from": -30, "to": 0, "step": 2}
    assert values["dataset"][0]["noise"] == 1.0
    assert values["dataset"][0]["scale"] == "none"


def test_resolved_toml_has_methods_and_grids_as_in_the_config() -> None:
    values = tomllib.loads(to_toml(parsed(FULL)))
    assert values["methods"] == FULL["methods"]
    assert values["fit"] == FULL["fit"]
    defaults = tomllib.loads(to_toml(parsed(synthetic_values())))["fit"]
    assert list(defaults) == ["memory", "refit", "krr", "svm", "l1-svm", "l2-krr", "align-krr"]
    assert defaults["align-krr"]["gamma2"] == {"from": -40, "to": -8, "step": 4}


def test_resolved_toml_omits_keys_that_are_not_set() -> None:
    values = tomllib.loads(to_toml(parsed(synthetic_values(kernels=[{"family": "rank-one"}]))))
    assert values["dataset"][0]["kernels"] == [{"family": "rank-one", "features": "columns"}]


def test_invalid_toml_names_the_file_and_the_line(tmp_path: Path) -> None:
    path = put(tmp_path, 'name = "a"\nmethods = \n', "broken.toml")
    with pytest.raises(ConfigError, match=r"broken\.toml is not valid TOML: .*line 2"):
        read_config(str(path))


def test_config_file_that_is_not_utf8(tmp_path: Path) -> None:
    path = put(tmp_path, 'name = "é"'.encode("latin-1"), "latin.toml")
    with pytest.raises(ConfigError, match=r"cannot read the config .*latin\.toml.*utf-8"):
        read_config(str(path))


@pytest.mark.parametrize("wanted", ["defalt", "Default", "configs/default.toml"])
def test_unknown_config_offers_the_nearest_shipped_one(
    wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder without such a file
    with pytest.raises(ConfigError) as caught:
        read_config(wanted)
    for part in (repr(wanted), *shipped_configs(), "Did you mean 'default'?"):
        assert part in str(caught.value)


def test_unknown_config_unlike_any_lists_the_shipped_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config("zzz")
    assert "Did you mean" not in str(caught.value)
    assert ", ".join(shipped_configs()) in str(caught.value)
