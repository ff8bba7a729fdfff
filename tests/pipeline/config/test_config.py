import copy
import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import (
    config_digest,
    differences,
    parse_config,
    read_config,
    shipped_configs,
    to_toml,
)
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.kernels.family import ColumnChoice
from kernel_pipeline.tasks.weights import method as methods
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.best_kernel import BestKernel
from kernel_pipeline.tasks.weights.method import Method
from tests.helpers.build import GAUSSIAN, changed, config_values, leaves, parsed, put, put_config, synthetic_values
from tests.tasks.methods import ONE_STAGE

# A config in which every field has a value, optional ones too: one dataset of each source.
FULL: dict[str, Any] = {
    "name": "full",
    "description": "everything",
    "seed": 7,
    "methods": [{"method": "align", "q": 1.5}, "unif", "align", "l1-svm", "l2-krr", "align-krr"],
    "protocol": {"folds": 4},
    "fit": {
        "krr": {"from": -6, "to": 0, "step": 3},
        "svm": {"from": -2, "to": 2, "step": 1},
        "l1-svm": {"from": -3, "to": 3, "step": 1},
        "l2-krr": {"from": 0, "to": 12, "step": 4},
        "align-krr": {
            "gamma": {"from": -6, "to": 0, "step": 3},
            "gamma1": {"from": -8, "to": -2, "step": 6},
            "gamma2": {"from": -9, "to": 0, "step": 3},
        },
    },
    "storage": {"tile": 64, "url": "s3://bucket/prefix"},
    "dataset": [
        {
            "name": "file",
            "task": ["regression", "classification"],
            "rows": 50,
            "scale": "standard",
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 3]}, {"family": "gaussian", "log2_gamma": [5, 5]}],
            "target": "label",
            "positive": ["a", "b"],
            "drop": [0, "name"],
            "encode": {"A": 1.0, "G": 2.5},
            "missing": "drop",
            "source": "file",
            "path": "some/file.csv.gz",
            "format": "csv",
            "header": True,
        },
        {
            "name": "open",
            "task": ["classification"],
            "rows": 60,
            "scale": "none",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "target": "",
            "positive": ["1"],
            "drop": [],
            "encode": "onehot",
            "missing": "error",
            "source": "openml",
            "id": 61,
        },
        {
            "name": "flowers",
            "task": ["classification"],
            "rows": 70,
            "scale": "minmax",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "source": "sklearn",
            "id": "iris",
            "positive": ["setosa"],
        },
        {
            "name": "made",
            "task": ["regression"],
            "rows": 80,
            "scale": "none",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "source": "synthetic",
            "features": 6,
            "noise": 0.5,
        },
        {
            "name": "words",
            "task": ["classification"],
            "rows": 90,
            "kernels": [{"family": "rank-one", "features": "unigrams", "top": 30}],
            "path": "words.txt.gz",
            "missing": "drop",
            "source": "text",
            "positive": ["ham"],
        },
        {
            "name": "reviews",
            "task": ["regression", "classification"],
            "rows": 40,
            "kernels": [{"family": "rank-one", "features": "bigrams", "top": 20}],
            "path": "sentiment",
            "missing": "error",
            "source": "sentiment",
            "domain": "books",
        },
    ],
}

# Another allowed value for every value of FULL, by the last part of its place.
OTHER: dict[str, Any] = {
    "name": "other",
    "seed": 8,
    "q": 3.0,
    "folds": 5,
    "from": -5,
    "to": 4,
    "step": 2,
    "tile": 65,
    "task": ["classification"],
    "rows": 51,
    "log2_gamma": [8, 9],
    "positive": ["c"],
    "drop": [1],
    "A": 3.0,
    "G": 3.0,
    "encode": {"word": 1.0},
    "path": "other.csv",
    "format": "table",
    "header": False,
    "features": 7,
    "noise": 0.25,
    "target": 2,
    "top": 10,
    "domain": "dvd",
}
OTHER_AT: dict[tuple[str | int, ...], Any] = {
    ("dataset", 0, "scale"): "minmax",
    ("dataset", 0, "missing"): "error",
    ("dataset", 1, "scale"): "minmax",
    ("dataset", 1, "missing"): "drop",
    ("dataset", 1, "task"): ["regression"],
    ("dataset", 1, "id"): "iris",
    ("dataset", 2, "scale"): "none",
    ("dataset", 2, "task"): ["regression"],
    ("dataset", 2, "id"): "wine",
    ("dataset", 3, "scale"): "minmax",
    ("dataset", 4, "kernels", 0, "features"): "bigrams",
    ("dataset", 4, "task"): ["regression"],
    ("dataset", 4, "missing"): "error",
    ("dataset", 5, "kernels", 0, "features"): "unigrams",
    ("dataset", 5, "missing"): "drop",
    ("methods", 1): "alignf",
    ("methods", 2): "alignf-linear",
    ("methods", 3): "best-kernel",
    ("methods", 4): "each-kernel",
    ("methods", 5): "alignf",
}
# They decide which keys there are, so none of them can change alone.
BOUND = ("source", "family", "method")
METHODS = "'unif', 'align', 'alignf', 'alignf-linear', 'best-kernel', 'l1-svm', 'l2-krr', 'align-krr' or 'each-kernel'"
PLACES = [place for place, _ in leaves(FULL) if place != ("description",) and place[-1] not in BOUND]


def message(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(values, "sweep.toml")
    return str(caught.value)


def setting(*settings: str, base: dict[str, Any] | None = None, folder: Path) -> Config:
    return read_config(str(put_config(folder, base or FULL)), settings)[0]


def shuffled(value: Any, random_: random.Random) -> Any:
    """The same values with their keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random_.shuffle(keys)
        return {key: shuffled(value[key], random_) for key in keys}
    return [shuffled(inner, random_) for inner in value] if isinstance(value, list) else value


# Reading


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_are_valid_and_have_the_name_of_their_file(name: str) -> None:
    config, folder = read_config(name)
    assert config.name == name
    assert config.description
    assert folder == Path.cwd()


def test_default_config_is_the_one_without_a_name() -> None:
    assert read_config(None) == read_config("default")


def test_default_config_needs_no_data_files() -> None:
    assert {dataset.source for dataset in read_config(None)[0].dataset} <= {"sklearn", "synthetic"}


def test_folder_of_a_config_file_is_where_its_data_are_looked_up(tmp_path: Path) -> None:
    config, folder = read_config(str(put_config(tmp_path, FULL)))
    assert config == parsed(FULL)
    assert folder == tmp_path


def test_a_file_goes_before_a_shipped_config_of_the_same_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert [name for family in config.dataset[0].gram_families for name in family.names()] == [
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


@pytest.mark.parametrize("name", shipped_configs())
def test_shipped_configs_read_back_from_their_resolved_toml(name: str) -> None:
    config = read_config(name)[0]
    assert parsed(tomllib.loads(to_toml(config))) == config


def test_resolved_toml_has_every_default() -> None:
    values = tomllib.loads(to_toml(parsed(synthetic_values())))
    assert values["seed"] == 0
    assert values["fit"]["krr"] == {"from": -30, "to": 0, "step": 2}
    assert values["dataset"][0]["noise"] == 1.0
    assert values["dataset"][0]["scale"] == "none"


def test_resolved_toml_has_the_names_of_methods_as_they_are_written() -> None:
    values = tomllib.loads(to_toml(parsed(FULL)))
    assert values["methods"] == FULL["methods"]
    assert values["fit"] == FULL["fit"]
    defaults = tomllib.loads(to_toml(parsed(synthetic_values())))["fit"]
    assert list(defaults) == ["krr", "svm", "l1-svm", "l2-krr", "align-krr"]
    assert defaults["align-krr"]["gamma2"] == {"from": -40, "to": -8, "step": 4}


def test_resolved_toml_leaves_out_what_is_not_set() -> None:
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
    monkeypatch.chdir(tmp_path)  # where no such file is
    with pytest.raises(ConfigError) as caught:
        read_config(wanted)
    for part in (repr(wanted), *shipped_configs(), "Did you mean 'default'?"):
        assert part in str(caught.value)


def test_unknown_config_unlike_any_lists_the_shipped_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        read_config("zzz")
    assert "Did you mean" not in str(caught.value)
    assert ", ".join(shipped_configs()) in str(caught.value)


# --set


def test_set_a_nested_value_even_if_its_table_is_not_written(tmp_path: Path) -> None:
    base = config_values()
    del base["protocol"]
    assert setting("protocol.folds=4", base=base, folder=tmp_path).protocol.folds == 4
    assert setting("fit.krr.step=1", folder=tmp_path).fit.krr.step == 1


def test_set_a_dataset_by_name(tmp_path: Path) -> None:
    config = setting("dataset.made.rows=99", folder=tmp_path)
    assert [dataset.rows for dataset in config.dataset] == [50, 60, 70, 99, 90, 40]


def test_set_lists_and_tables(tmp_path: Path) -> None:
    config = setting(
        'methods=["best-kernel", {method = "align", q = 1.25}]',
        'dataset.made.kernels=[{family = "gaussian", log2_gamma = [1, 2]}]',
        "fit.svm={from = 0, to = 1, step = 1}",
        folder=tmp_path,
    )
    assert config.methods == [BestKernel(), Align(1.25)]
    assert [method.method_id for method in config.methods] == ["best-kernel", "align-q1.25"]
    assert [name for family in config.dataset[3].gram_families for name in family.names()] == [
        "gaussian(2^1)",
        "gaussian(2^2)",
    ]
    assert config.fit.svm.values() == [1.0, 2.0]


@pytest.mark.parametrize(("text", "value"), [("two words", "two words"), ('"quoted"', "quoted"), ("a=b", "a=b")])
def test_set_a_bare_word_is_a_text(text: str, value: str, tmp_path: Path) -> None:
    assert setting(f"description={text}", folder=tmp_path).description == value


def test_set_allows_blanks_and_the_last_setting_wins(tmp_path: Path) -> None:
    assert setting(" seed = 1", "seed= 2 ", folder=tmp_path).seed == 2


def test_set_changes_a_shipped_config_for_this_run_only() -> None:
    assert read_config("default", ["seed=5"])[0].seed == 5
    assert read_config("default")[0].seed == 0


@pytest.mark.parametrize("written", ["seed", "=3", ""])
def test_set_needs_a_key_and_a_value(written: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="write key=value") as caught:
        setting(written, folder=tmp_path)
    assert repr(written) in str(caught.value)


def test_set_of_an_unknown_dataset_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no 'mad'; there are: file, open, flowers, made, words, reviews"):
        setting("dataset.mad.rows=3", folder=tmp_path)


@pytest.mark.parametrize(
    "written", ["dataset.rows=3", "seed.x=3", "seed.x.y=3", "methods.0=align", "methods.align.q=3"]
)
def test_set_inside_what_is_not_a_table(written: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a table"):
        setting(written, folder=tmp_path)


def test_set_of_an_unknown_key_and_of_a_wrong_value(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown key 'sed'; did you mean 'seed'"):
        setting("sed=3", folder=tmp_path)
    with pytest.raises(ConfigError, match=r"protocol\.folds: must be .*integer; got 'many'"):
        setting("protocol.folds=many", folder=tmp_path)


# The digest


@pytest.mark.parametrize("seed", range(5))
def test_digest_does_not_depend_on_the_order_of_keys(seed: int) -> None:
    assert config_digest(parsed(shuffled(FULL, random.Random(seed)))) == config_digest(parsed(FULL))


def test_digest_takes_5_and_5_0_for_the_same() -> None:
    whole = [place for place, value in leaves(FULL) if isinstance(value, int) and not isinstance(value, bool)]
    assert ("dataset", 0, "rows") in whole
    floats = FULL
    for place in whole:
        floats = changed(floats, place, float(dict(leaves(floats))[place]))
    floats = changed(floats, ("dataset", 0, "kernels", 0, "log2_gamma"), [-3.0, 3.0])
    floats = changed(floats, ("dataset", 0, "encode", "A"), 1)
    assert parsed(floats) == parsed(FULL)
    assert config_digest(parsed(floats)) == config_digest(parsed(FULL))


def test_digest_ignores_the_description_alone() -> None:
    assert config_digest(parsed(FULL | {"description": "other"})) == config_digest(parsed(FULL))


def test_digest_is_the_same_for_a_default_written_out() -> None:
    config = parsed(synthetic_values())
    assert config_digest(parsed(tomllib.loads(to_toml(config)))) == config_digest(config)


def schema_keys(schema: Any) -> set[str]:
    """Return the keys of all tables that a schema describes, wherever in it."""
    if isinstance(schema, list):
        return {key for part in schema for key in schema_keys(part)}
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})) | {key for part in schema.values() for key in schema_keys(part)}


def test_full_config_has_every_field() -> None:
    """Otherwise the next test would miss a new one."""
    expected = schema_keys(Config.model_json_schema(by_alias=True))
    assert {part for place, _ in leaves(FULL) for part in place if isinstance(part, str)} - {"A", "G"} == expected


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_digest_and_differences_see_every_value(place: tuple[str | int, ...]) -> None:
    other = parsed(changed(FULL, place, OTHER_AT.get(place, OTHER.get(str(place[-1])))))
    base = parsed(FULL)
    assert other != base
    assert config_digest(other) != config_digest(base)
    lines = differences(base, other)
    assert lines
    assert any(str(place[-1]) in line for line in lines)


# Differences


def test_differences_of_equal_configs_are_none() -> None:
    assert differences(parsed(FULL), parsed(copy.deepcopy(FULL) | {"description": "other"})) == []


def test_differences_say_old_and_new() -> None:
    old = parsed(synthetic_values())
    new = parsed(synthetic_values(rows=20, scale="minmax") | {"seed": 3})
    assert differences(old, new) == [
        "dataset[0].rows: 10 -> 20",
        "dataset[0].scale: none -> minmax",
        "seed: 0 -> 3",
    ]
    assert differences(new, old)[0] == "dataset[0].rows: 20 -> 10"


def test_differences_of_methods() -> None:
    old, new = (parsed(synthetic_values() | {"methods": ["unif", {"method": "align", "q": q}]}) for q in (1.5, 3.0))
    assert differences(old, new) == ["methods[1].q: 1.5 -> 3.0"]


def test_differences_of_a_value_that_only_one_has() -> None:
    assert differences(parsed(config_values()), parsed(config_values(rows=9))) == ["dataset[0].rows: not set -> 9"]
    assert differences(parsed(config_values(rows=9)), parsed(config_values())) == ["dataset[0].rows: 9 -> not set"]


def test_differences_of_a_dataset_more() -> None:
    more = synthetic_values()
    more["dataset"].append({**more["dataset"][0], "name": "second"})
    lines = differences(parsed(synthetic_values()), parsed(more))
    assert "dataset[1].name: not set -> second" in lines
    assert all(line.startswith("dataset[1].") for line in lines)


# What is refused


@pytest.mark.parametrize(
    ("place", "unknown", "nearest", "where"),
    [
        ((), "metods", "methods", ""),
        (("protocol",), "fold", "folds", "protocol"),
        (("fit",), "krrr", "krr", "fit"),
        (("fit", "krr"), "form", "from", "fit.krr"),
        (("fit",), "l1_svm", "l1-svm", "fit"),
        (("fit", "align-krr"), "gama", "gamma", "fit.align-krr"),
        (("methods", 0), "qq", "q", "methods[0]"),
        (("storage",), "tiles", "tile", "storage"),
        (("dataset", 0), "rwos", "rows", "dataset[0] (file)"),
        (("dataset", 1), "targt", "target", "dataset[1] (open)"),
        (("dataset", 2), "positve", "positive", "dataset[2] (flowers)"),
        (("dataset", 3), "nois", "noise", "dataset[3] (made)"),
        (("dataset", 3, "kernels", 0), "log2gamma", "log2_gamma", "dataset[3] (made).kernels[0]"),
        (("dataset", 4), "mising", "missing", "dataset[4] (words)"),
        (("dataset", 4, "kernels", 0), "feature", "features", "dataset[4] (words).kernels[0]"),
        (("dataset", 5), "domian", "domain", "dataset[5] (reviews)"),
    ],
)
def test_unknown_key_names_the_nearest_one(
    place: tuple[str | int, ...], unknown: str, nearest: str, where: str
) -> None:
    text = message(changed(FULL, (*place, unknown), 1))
    assert "sweep.toml is not a valid config" in text
    assert f"unknown key {unknown!r}; did you mean {nearest!r}?" in text
    assert f"{where}: unknown" in text if where else "\n  unknown" in text


def test_unknown_key_unlike_any_lists_the_allowed_ones() -> None:
    text = message(config_values() | {"zzz": 1})
    assert "did you mean" not in text
    assert all(key in text for key in Config.model_fields)


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("seed",), "0", "seed: must be a valid integer; got '0'"),
        (("seed",), True, "seed: must be a valid integer; got True"),
        (("seed",), 1.5, "seed: must be a valid integer; got 1.5"),
        (("seed",), -1, "seed: must be greater than or equal to 0; got -1"),
        (("methods",), "unif", "methods: must be a list in brackets"),
        (("methods", 0), "unfi", f"methods[0]: must be {METHODS}, or a table; got 'unfi'"),
        (("methods", 1), 3, f"methods[1]: must be {METHODS}, or a table; got 3"),
        (("methods", 0, "q"), 0.5, "methods[0].q: must be greater than or equal to 1; got 0.5"),
        (("methods", 0, "q"), float("inf"), "methods[0].q: must be a finite number; got inf"),
        (("methods", 0, "q"), "2", "methods[0].q: must be a valid number; got '2'"),
        (("methods", 0, "method"), "alignf", "methods[0]: unknown key 'q'. Allowed: method"),
        (("methods", 0, "method"), "alignq", f"methods[0].method: must be {METHODS}; got 'alignq'"),
        (("methods", 0, "method"), ["align"], f"methods[0].method: must be {METHODS}; got ['align']"),
        (("methods", 1), {"q": 2}, "methods[1].method: is missing"),
        (("name",), 5, "name: must be a valid string; got 5"),
        (("protocol",), 3, "protocol: must be a table; got 3"),
        (("protocol", "folds"), 2, "protocol.folds: must be greater than or equal to 3; got 2"),
        (("storage", "tile"), 0, "storage.tile: must be greater than or equal to 1; got 0"),
        (("fit", "krr", "step"), 0, "fit.krr.step: must be greater than or equal to 1; got 0"),
        (("fit", "svm"), {"from": 3, "to": 1}, "fit.svm: goes from 3 to 1; 'from' must not be above 'to'"),
        (("fit", "l1-svm"), {"from": 3, "to": 1}, "fit.l1-svm: goes from 3 to 1"),
        (("fit", "l2-krr", "step"), 0, "fit.l2-krr.step: must be greater than or equal to 1; got 0"),
        (("fit", "align-krr"), 3, "fit.align-krr: must be a table; got 3"),
        (("fit", "align-krr", "gamma1"), {"from": 3, "to": 1}, "fit.align-krr.gamma1: goes from 3 to 1"),
        (("fit", "krr", "to"), 2000, "fit.krr.to: must be less than or equal to 100; got 2000"),
        (
            ("dataset", 0, "source"),
            "fil",
            "dataset[0] (file).source: must be one of 'file', 'openml', 'sklearn', 'synthetic', 'text', 'sentiment'",
        ),
        (("dataset", 0, "format"), "cvs", "must be 'csv', 'table', 'libsvm', 'arff' or 'npz'; got 'cvs'"),
        (("dataset", 0, "task"), "clustering", "must be 'regression' or 'classification'; got 'clustering'"),
        (("dataset", 0, "missing"), "dorp", "dataset[0] (file).missing: must be 'error' or 'drop'; got 'dorp'"),
        (("dataset", 0, "scale"), "max", "must be 'none', 'standard' or 'minmax'; got 'max'"),
        (("dataset", 0, "header"), "yes", "dataset[0] (file).header: must be a valid boolean; got 'yes'"),
        (("dataset", 0, "rows"), 0, "dataset[0] (file).rows: must be greater than or equal to 1; got 0"),
        (("dataset", 0, "rows"), "5", "dataset[0] (file).rows: must be a valid integer; got '5'"),
        (("dataset", 0, "positive"), "a", "dataset[0] (file).positive: must be a list in brackets"),
        (("dataset", 0, "positive"), [1], "dataset[0] (file).positive[0]: must be a valid string; got 1"),
        (("dataset", 2, "id"), "irs", "'breast_cancer', 'diabetes', 'digits', 'iris' or 'wine'; got 'irs'"),
        (("dataset", 3, "noise"), -1, "dataset[3] (made).noise: must be greater than or equal to 0; got -1"),
        (("dataset", 3, "features"), 4, "dataset[3] (made).features: must be greater than or equal to 5; got 4"),
        (
            ("dataset", 3, "kernels", 0, "family"),
            "gausian",
            "dataset[3] (made).kernels[0].family: must be one of 'gaussian', 'rank-one'; got 'gausian'",
        ),
        (
            ("dataset", 4, "kernels", 0, "features"),
            "words",
            "dataset[4] (words).kernels[0].features: must be 'columns', 'unigrams' or 'bigrams'; got 'words'",
        ),
        (("dataset", 4, "kernels", 0, "top"), 0, "kernels[0].top: must be greater than or equal to 1; got 0"),
        (("dataset", 4, "path"), "", "dataset[4] (words).path: must not be empty; got ''"),
        (("dataset", 4, "missing"), "dorp", "dataset[4] (words).missing: must be 'error' or 'drop'; got 'dorp'"),
        (("dataset", 4, "positive"), [], "dataset[4] (words).positive: needs at least 1 item(s); got []"),
        (("dataset", 5, "domain"), "", "dataset[5] (reviews).domain: must not be empty; got ''"),
        (("dataset", 5, "domain"), 3, "dataset[5] (reviews).domain: must be a valid string; got 3"),
        (
            ("dataset", 3, "kernels", 0, "log2_gamma"),
            [3, -3],
            "dataset[3] (made).kernels[0].log2_gamma: [3, -3] is backwards; write [-3, 3]",
        ),
        (("dataset", 3, "kernels", 0, "log2_gamma"), [0.5, 1], "log2_gamma[0]: must be a valid integer; got 0.5"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), [1, 2, 3], "log2_gamma:"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), 3, "log2_gamma:"),
        (("dataset", 3, "kernels", 0, "log2_gamma"), ["0", "1"], "log2_gamma[0]: must be a valid integer; got '0'"),
        (("dataset", 3, "kernels"), copy.deepcopy(GAUSSIAN), "dataset[3] (made).kernels: must be a list in brackets"),
        (("dataset", 0, "name"), "zarr.json", "name: 'zarr.json' is a name that zarr keeps for itself"),
        (("dataset", 0, "format"), "npz", "target = 'label': a file of format 'npz' marks its target itself"),
        (("dataset", 0, "name"), "../up", "dataset[0] (../up).name:"),
        (("name",), "a/b", "name:"),
        (("dataset",), 3, "dataset: must be a list in brackets; tables of a list are written [[name]]; got 3"),
        (("dataset", 0), 3, "dataset[0]:"),
    ],
)
def test_wrong_values_say_the_field_what_is_allowed_and_what_was_given(
    place: tuple[str | int, ...], value: Any, expected: str
) -> None:
    text = message(changed(FULL, place, value))
    assert expected in text
    assert "pipeline config schema" in text


def test_grids_and_families_of_one_value() -> None:
    place = ("dataset", 3, "kernels", 0, "log2_gamma")
    assert parsed(changed(FULL, ("fit", "krr"), {"from": 1, "to": 1})).fit.krr.values() == [2.0]
    assert parsed(changed(FULL, place, [4, 4])).dataset[3].gram_families[0].names() == ("gaussian(2^4)",)
    assert "goes from 1 to 0" in message(changed(FULL, ("fit", "krr"), {"from": 1, "to": 0}))
    assert "[4, 3] is backwards" in message(changed(FULL, place, [4, 3]))


@pytest.mark.parametrize("place", [("methods",), ("dataset",), ("dataset", 0, "kernels"), ("dataset", 0, "task")])
def test_empty_lists_are_refused(place: tuple[str | int, ...]) -> None:
    assert f"{place[-1]}: " in message(changed(FULL, place, []))


@pytest.mark.parametrize("key", ["name", "methods", "dataset"])
def test_required_keys(key: str) -> None:
    values = copy.deepcopy(FULL)
    del values[key]
    assert f"{key}: " in message(values)


def test_a_dataset_without_a_source_is_told_so() -> None:
    values = copy.deepcopy(FULL)
    del values["dataset"][0]["source"]
    assert "dataset[0] (file)" in message(values)
    assert "'source'" in message(values)


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("methods",), ["unif", "align", "unif"], "methods: names 'unif' twice"),
        (
            ("methods",),
            [{"method": "align", "q": 2.0}, "align", {"method": "align", "q": 2}],
            "methods: names 'align-q2' twice",
        ),
        (("dataset", 0, "task"), ["regression", "regression"], "dataset[0] (file).task: names 'regression' twice"),
        (("dataset", 1, "name"), "file", "dataset: names 'file' twice"),
        (
            # families that overlap, though no family is there twice
            ("dataset", 0, "kernels"),
            [{"family": "gaussian", "log2_gamma": [-3, 0]}, {"family": "gaussian", "log2_gamma": [0, 3]}],
            "dataset[0] (file).kernels: names 'gaussian(2^0)' twice",
        ),
    ],
)
def test_repeats_are_refused(place: tuple[str | int, ...], value: Any, expected: str) -> None:
    assert expected in message(changed(FULL, place, value))


def test_a_table_for_a_method_is_not_told_which_names_there_are() -> None:
    """Of a table it matters what is wrong inside."""
    assert "'unif'" not in message(changed(FULL, ("methods", 0, "q"), 0.5))
    assert "'onehot'" not in message(config_values(encode={"A": "x"}))


@pytest.mark.parametrize(
    ("place", "kernels", "expected"),
    [
        (
            3,
            [{"family": "rank-one"}, GAUSSIAN],
            "(made).kernels: a rank-one family stands alone; put other families into a dataset of their own",
        ),
        (3, [{"family": "rank-one"}] * 2, "(made).kernels: a rank-one family stands alone"),
        (
            4,
            [{"family": "rank-one", "features": "unigrams"}, {"family": "rank-one", "features": "bigrams"}],
            "(words).kernels: a rank-one family stands alone",
        ),
        (
            3,
            [{"family": "rank-one", "features": "bigrams"}],
            "(made).kernels: features = 'bigrams' is not what this source has; it has: columns",
        ),
        (
            4,
            [{"family": "rank-one"}],
            "(words).kernels: features = 'columns' is not what this source has; it has: unigrams, bigrams",
        ),
        (
            3,
            [{"family": "rank-one", "top": 5}],
            "(made).kernels[0].top: selects frequent words; all columns of a table are used. Leave it out",
        ),
        (
            4,
            [GAUSSIAN],
            "(words).kernels: documents take one family that makes a kernel of each column: family = 'rank-one'",
        ),
        (
            5,
            [GAUSSIAN],
            "(reviews).kernels: documents take one family that makes a kernel of each column: family = 'rank-one'",
        ),
        (4, [{"family": "rank-one", "log2_gamma": [0, 1]}], "(words).kernels[0]: unknown key 'log2_gamma'"),
        (4, [{"features": "bigrams"}], "(words).kernels[0]: needs a key 'family'"),
    ],
)
def test_families_that_do_not_go_with_each_other_or_with_the_source(
    place: int, kernels: list[dict[str, Any]], expected: str
) -> None:
    assert f"dataset[{place}] {expected}" in message(changed(FULL, ("dataset", place, "kernels"), kernels))


def test_a_rank_one_family_of_columns() -> None:
    family = parsed(synthetic_values(kernels=[{"family": "rank-one"}])).dataset[0].column_family
    assert family is not None
    assert family.choice() == ColumnChoice("columns", top=None)
    assert parsed(synthetic_values()).dataset[0].column_family is None


@pytest.mark.parametrize("key", ["scale", "positive", "target", "encode"])
def test_documents_have_no_keys_of_tables(key: str) -> None:
    assert f"dataset[5] (reviews): unknown key {key!r}" in message(changed(FULL, ("dataset", 5, key), "x"))


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [("drop", [0], "drop = [0]: of a libsvm file"), ("scale", "minmax", "scale = 'minmax': rank-one kernels are")],
)
def test_a_libsvm_file_of_rank_one_kernels_stays_as_it_is(key: str, value: Any, expected: str) -> None:
    rank_one = {"format": "libsvm", "kernels": [{"family": "rank-one"}]}
    text = message(config_values(**rank_one, **{key: value}))
    assert f"dataset[0] (things): {expected}" in text
    assert "leave it out" in text
    parsed(config_values(format="libsvm", **{key: value}))
    parsed(config_values(**rank_one | {"format": "csv"}, **{key: value}))


@pytest.mark.parametrize(
    ("method", "wanted", "learned"),
    [
        ("l1-svm", "classification", "regression"),
        ("l2-krr", "regression", "classification"),
        ("align-krr", "regression", "classification"),
    ],
)
def test_a_one_stage_method_needs_a_dataset_with_its_task(method: str, wanted: str, learned: str) -> None:
    values = synthetic_values(task=learned) | {"methods": ["unif", method]}
    text = message(values)
    assert f"methods: {method!r} is for {wanted}, but every dataset learns {learned}" in text
    assert "leave the method out, or set task of a dataset" in text
    # One dataset that has it is enough.
    values["dataset"].append({**values["dataset"][0], "name": "second", "task": wanted})
    assert [entry.method_id for entry in parsed(values).methods] == ["unif", method]


@pytest.mark.parametrize(
    ("method", "task", "kernels", "rank_one", "reason"),
    [
        ("l1-svm", "regression", 2, False, "it is for classification"),
        ("l2-krr", "classification", 2, False, "it is for regression"),
        ("alignf-linear", "regression", 5001, True, "a matrix of 5,001 x 5,001; 5,000 kernels at most"),
        ("align-krr", "regression", 5001, True, "a matrix of 5,001 x 5,001"),
        ("each-kernel", "regression", 2, True, "single feature"),
        ("l1-svm", "classification", 5001, True, "None"),
        ("l2-krr", "regression", 5001, True, "None"),
        ("align-krr", "regression", 5000, True, "None"),
        ("each-kernel", "regression", 9, False, "None"),
        (Align(3.0), "classification", 5001, True, "None"),
    ],
)
def test_why_a_method_is_left_out(method: str | Method, task: str, kernels: int, rank_one: bool, reason: str) -> None:
    method = methods.METHODS[method]() if isinstance(method, str) else method
    assert reason in str(method.unsupported_reason(task, kernels, rank_one))


def test_every_mistake_is_said_at_once() -> None:
    text = message(changed(changed(FULL, ("seed",), "x"), ("dataset", 3, "rows"), 0))
    assert "seed: " in text
    assert "dataset[3] (made).rows: " in text


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(parsed(FULL), "seed", 1)  # noqa: B010 - the type checker refuses the plain form


# The schema


def test_schema_is_json_and_mentions_every_key() -> None:
    result = CliRunner().invoke(main, ["config", "schema"])
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert set(schema["properties"]) == set(Config.model_fields)
    for place, _ in leaves(FULL):
        assert all(f'"{part}"' in result.stdout or part in ("A", "G") for part in place if isinstance(part, str))
    for method in methods.METHODS:
        assert f'"{method}"' in result.stdout


def test_set_below_an_item_of_a_list_of_texts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="methods"):
        setting("methods.x.y=1", folder=tmp_path)


def test_set_a_dataset_with_a_dot_in_its_name(tmp_path: Path) -> None:
    assert setting("dataset.a.b.rows=5", base=synthetic_values(name="a.b"), folder=tmp_path).dataset[0].rows == 5


@pytest.mark.parametrize("code", [float("inf"), float("nan")])
def test_codes_are_finite(code: float) -> None:
    assert "encode" in message(config_values(encode={"A": code}))


@pytest.mark.parametrize(
    ("key", "value"), [("target", True), ("target", 1.5), ("drop", [1.5]), ("encode", "onhot"), ("encode", {"A": "x"})]
)
def test_messages_about_fields_of_several_types_speak_of_the_config_only(key: str, value: Any) -> None:
    text = message(config_values(**{key: value}))
    assert f"dataset[0] (things).{key}" in text
    for internal in ("function-before", "lambda", "literal[", "dict[str", "Unable to extract"):
        assert internal not in text


def test_differences_see_an_empty_table() -> None:
    assert differences(parsed(config_values()), parsed(config_values(encode={})))
