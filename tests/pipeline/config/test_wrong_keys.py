"""Messages about unknown, missing and repeated keys and about several types."""

import copy
from typing import Any

import pytest

from kernel_pipeline.config.sweep import Config
from tests.helpers.build import changed, config_values, parsed
from tests.pipeline.config.full_config import FULL, message


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
    ("place", "expected"),
    [
        (("name",), "name: is missing"),
        (("methods",), "methods: is missing"),
        (("dataset",), "dataset: is missing"),
        (("dataset", 0, "name"), "dataset[0].name: is missing"),
        (("dataset", 0, "source"), "dataset[0] (file): requires the key 'source'"),
        (("dataset", 0, "kernels"), "dataset[0] (file).kernels: is missing"),
    ],
)
def test_required_keys(place: tuple[str | int, ...], expected: str) -> None:
    values: Any = copy.deepcopy(FULL)
    inner = values
    for part in place[:-1]:
        inner = inner[part]
    del inner[place[-1]]
    assert expected in message(values)


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("methods",), ["unif", "align", "unif"], "methods: 'unif' is listed more than once"),
        (
            ("methods",),
            [{"method": "align", "q": 2.0}, "align", {"method": "align", "q": 2}],
            "methods: 'align-q2' is listed more than once",
        ),
        (
            ("dataset", 0, "task"),
            ["regression", "regression"],
            "dataset[0] (file).task: 'regression' is listed more than once",
        ),
        (("dataset", 1, "name"), "file", "dataset: 'file' is listed more than once"),
        (
            # families that overlap, although no family is listed twice
            ("dataset", 0, "kernels"),
            [{"family": "gaussian", "log2_gamma": [-3, 0]}, {"family": "gaussian", "log2_gamma": [0, 3]}],
            "dataset[0] (file).kernels: 'gaussian(2^0)' is listed more than once",
        ),
    ],
)
def test_repeats_are_refused(place: tuple[str | int, ...], value: Any, expected: str) -> None:
    assert expected in message(changed(FULL, place, value))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target", True),
        ("target", 1.5),
        ("drop", [1.5]),
        ("encode", "onhot"),
        ("encode", {"A": "x"}),
        ("encode", {"A": float("inf")}),
        ("encode", {"A": float("nan")}),
    ],
)
def test_messages_about_fields_of_several_types_contain_no_internal_names(key: str, value: Any) -> None:
    text = message(config_values(**{key: value}))
    assert f"dataset[0] (things).{key}" in text
    for internal in ("function-before", "lambda", "literal[", "dict[str", "Unable to extract"):
        assert internal not in text


def test_all_mistakes_are_reported_together() -> None:
    text = message(changed(changed(FULL, ("seed",), "x"), ("dataset", 3, "rows"), 0))
    assert "seed: " in text
    assert "dataset[3] (made).rows: " in text


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(parsed(FULL), "seed", 1)  # noqa: B010 - the type checker refuses the plain form
