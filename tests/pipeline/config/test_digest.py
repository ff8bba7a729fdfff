"""Digests of configs and differences between two configs."""

import copy
import random
from typing import Any

import pytest

from kernel_pipeline.config.loading import LATER_KEYS, config_digest, differences
from kernel_pipeline.config.sweep import Config
from tests.helpers.build import changed, config_values, leaves, parsed, synthetic_values
from tests.pipeline.config.full_config import FULL

# Another allowed value for every value of FULL, by the last part of its path.
OTHER: dict[str, Any] = {
    "name": "other",
    "seed": 8,
    "q": 3.0,
    "baselines": True,
    "folds": 5,
    "permutations": 0,
    "from": -5,
    "to": 4,
    "step": 2,
    "class_weight": None,
    "metric": "mae",
    "refit": "train",
    "memory": "2 GiB",
    "tile": 65,
    "gram": "recompute",
    "keep_up_to": "6 GiB",
    "keep_combined": False,
    "task": ["classification"],
    "rows": 51,
    "log2_gamma": [8, 9],
    "gamma": [0.7],
    "nu": [2.5],
    "length_scale": [5.0],
    "alpha": [7.0],
    "degree": [4],
    "coef0": [2.0],
    "positive": ["c"],
    "drop": [1],
    "A": 3.0,
    "G": 3.0,
    "encode": {"word": 1.0},
    "path": "other.csv",
    "header": False,
    "index": True,
    "groups": 3,
    "test": 2,
    "test_path": "other-test.csv",
    "separator": "|",
    "decimal": ".",
    "encoding": "utf-16",
    "features": 7,
    "noise": 0.25,
    "target": 2,
    "top": 10,
    "domain": "dvd",
    "counts": "counts",
    "min_df": 2,
    "stop_words": ["of"],
    "lowercase": True,
    "upper": 0.75,
    "ridge": 2.0,
    "text": "title",
    "columns": ["petal*", 0],
    "each": None,
    "psd": None,
    "fit_on": "all",
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
    ("dataset", 6, "kernels", 0, "features"): ["unigrams"],
    ("dataset", 6, "task"): ["regression"],
    ("methods", 1): "alignf",
    ("methods", 2): "alignf-linear",
    ("methods", 3): "each-kernel",
    ("methods", 4): "each-kernel",
    ("methods", 5): "alignf",
}


# These keys determine which other keys are allowed, so none of them can change alone.
BOUND = ("source", "family", "method", "format")


# Folds that are given, as in FULL, allow only one repeat.
ONE_REPEAT = ("protocol", "repeats")
PLACES = [place for place, _ in leaves(FULL) if place not in (("description",), ONE_REPEAT) and place[-1] not in BOUND]


def shuffled(value: Any, random_: random.Random) -> Any:
    """Return the same values with their keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random_.shuffle(keys)
        return {key: shuffled(value[key], random_) for key in keys}
    return [shuffled(inner, random_) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(5))
def test_digest_does_not_depend_on_the_order_of_keys(seed: int) -> None:
    assert config_digest(parsed(shuffled(FULL, random.Random(seed)))) == config_digest(parsed(FULL))


def test_digest_is_the_same_for_5_and_5_0() -> None:
    whole = [place for place, value in leaves(FULL) if isinstance(value, int) and not isinstance(value, bool)]
    assert ("dataset", 0, "rows") in whole
    floats = FULL
    for place in whole:
        floats = changed(floats, place, float(dict(leaves(floats))[place]))
    floats = changed(floats, ("dataset", 0, "kernels", 0, "log2_gamma"), [-3.0, 3.0])
    floats = changed(floats, ("dataset", 0, "encode", "A"), 1)
    assert parsed(floats) == parsed(FULL)
    assert config_digest(parsed(floats)) == config_digest(parsed(FULL))


def test_digest_ignores_the_description() -> None:
    assert config_digest(parsed(FULL | {"description": "other"})) == config_digest(parsed(FULL))


def test_digests_are_those_of_earlier_versions() -> None:
    """If a new key changes them, add it to LATER_KEYS: run directories are named after the digests."""
    assert config_digest(parsed(synthetic_values())) == "701730e3"
    assert config_digest(parsed(config_values())) == "b1f5165a"


@pytest.mark.parametrize("key", LATER_KEYS)
def test_a_key_that_was_added_later_does_not_change_the_digest_if_it_has_its_default(key: str) -> None:
    name, _, last = key.rpartition(".")
    place = {"": (last,), "dataset": ("dataset", 0, last)}.get(name, (name, last))
    values = synthetic_values() | {"fit": {}}
    assert config_digest(parsed(changed(values, place, LATER_KEYS[key]))) == config_digest(parsed(values))


def test_a_whole_number_may_be_written_as_a_float() -> None:
    kernels = [{"family": "rank-one", "features": "unigrams"}]
    dataset = {"name": "words", "task": "regression", "source": "text", "path": "words.txt", "kernels": kernels}
    one, other = (
        parsed(synthetic_values() | {"seed": seed, "dataset": [dataset | {"min_df": min_df}]})
        for seed, min_df in ((2, 3), (2.0, 3.0))
    )
    assert one == other
    assert config_digest(one) == config_digest(other)


def test_fit_on_all_does_not_change_the_digest() -> None:
    assert config_digest(parsed(synthetic_values(fit_on="all"))) == config_digest(parsed(synthetic_values()))
    assert differences(parsed(synthetic_values(fit_on="all")), parsed(synthetic_values())) == []


def test_several_repeats_change_the_digest_but_one_does_not() -> None:
    old, one, two = (
        parsed(synthetic_values() | {"protocol": {"folds": 3, **keys}})
        for keys in ({}, {"repeats": 1, "permutations": 0}, {"repeats": 2})
    )
    assert config_digest(one) == config_digest(old)
    assert config_digest(two) != config_digest(old)
    assert differences(old, two) == ["protocol.repeats: 1 -> 2"]


def schema_keys(schema: Any) -> set[str]:
    """Return the keys of all tables that a schema describes, at any depth."""
    if isinstance(schema, list):
        return {key for part in schema for key in schema_keys(part)}
    if not isinstance(schema, dict):
        return set()
    return set(schema.get("properties", {})) | {key for part in schema.values() for key in schema_keys(part)}


def test_full_config_has_every_field() -> None:
    """Check that FULL has every field, since the next test would miss a field that it lacks."""
    expected = schema_keys(Config.model_json_schema(by_alias=True))
    assert {part for place, _ in leaves(FULL) for part in place if isinstance(part, str)} - {"A", "G"} == expected


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_digest_and_differences_depend_on_every_value(place: tuple[str | int, ...]) -> None:
    other = parsed(changed(FULL, place, OTHER_AT.get(place, OTHER.get(str(place[-1])))))
    base = parsed(FULL)
    assert other != base
    assert config_digest(other) != config_digest(base)
    lines = differences(base, other)
    assert lines
    assert any(str(place[-1]) in line for line in lines)


def test_differences_of_equal_configs_are_empty() -> None:
    assert differences(parsed(FULL), parsed(copy.deepcopy(FULL) | {"description": "other"})) == []


def test_differences_name_old_and_new_values() -> None:
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
    assert differences(parsed(config_values()), parsed(config_values(encode={}))) == [
        "dataset[0].encode: not set -> {}"
    ]


def test_differences_of_an_additional_dataset() -> None:
    more = synthetic_values()
    more["dataset"].append({**more["dataset"][0], "name": "second"})
    lines = differences(parsed(synthetic_values()), parsed(more))
    assert "dataset[1].name: not set -> second" in lines
    assert all(line.startswith("dataset[1].") for line in lines)
