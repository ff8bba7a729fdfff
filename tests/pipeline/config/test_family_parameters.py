"""Parameters of kernel families in a config: one value or a list, bounds, and allowed combinations."""

import tomllib
from typing import Any

import pytest

from kernel_pipeline.config.families import example_table
from kernel_pipeline.config.loading import config_digest, parse_config, to_toml
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.kernels.family import FAMILIES, Family
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from kernel_pipeline.tasks.kernels.matern import MaternFamily
from kernel_pipeline.tasks.kernels.polynomial import PolynomialFamily
from tests.helpers.build import config_values, parsed, synthetic_values


def with_family(**family: Any) -> Config:
    return parsed(synthetic_values(kernels=[family]))


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"family": "gaussian", "gamma": "median"}, GaussianFamily(gamma=("median",))),
        ({"family": "gaussian", "gamma": [1, 0.5, "median"]}, GaussianFamily(gamma=(1.0, 0.5, "median"))),
        ({"family": "gaussian", "log2_gamma": [-3, 3]}, GaussianFamily(log2_gamma=(-3, 3))),
        ({"family": "laplacian"}, LaplacianFamily(gamma=None)),
        ({"family": "laplacian", "gamma": 2}, LaplacianFamily(gamma=(2.0,))),
        ({"family": "matern", "nu": [0.5, 2.5]}, MaternFamily(nu=(0.5, 2.5), length_scale=(1.0,))),
        ({"family": "polynomial", "degree": 2}, PolynomialFamily(degree=(2,), gamma=None, coef0=(1.0,))),
    ],
)
def test_a_parameter_is_one_value_or_a_list(table: dict[str, Any], expected: Family) -> None:
    config = with_family(**table)
    assert config.dataset[0].kernels == [expected]
    assert parsed(tomllib.loads(to_toml(config))) == config


def test_one_value_and_a_list_of_it_are_the_same_config() -> None:
    one, many = with_family(family="laplacian", gamma=0.5), with_family(family="laplacian", gamma=[0.5])
    assert config_digest(one) == config_digest(many)
    assert tomllib.loads(to_toml(one))["dataset"][0]["kernels"] == [{"family": "laplacian", "gamma": [0.5]}]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"family": "gaussian"}, "[0]: write either log2_gamma = [lo, hi], for gamma = 2 ** (lo..hi), or"),
        ({"family": "gaussian", "log2_gamma": [0, 1], "gamma": 2}, "a value or a list; both are given"),
        ({"family": "gaussian", "gamma": 0}, ".gamma: must be greater than 0, or 'median'; got 0"),
        ({"family": "gaussian", "gamma": [1, "mean"]}, ".gamma[1]: must be a valid number, or 'median'; got 'mean'"),
        ({"family": "gaussian", "gamma": []}, ".gamma: must have at least 1 item(s); got []"),
        ({"family": "gaussian", "gamma": [0.1, 0.1]}, "'gaussian(0.1)' is listed more than once"),
        ({"family": "rational-quadratic", "alpha": [-1]}, ".alpha[0]: must be greater than 0; got -1"),
        ({"family": "polynomial", "degree": [2.5]}, ".degree[0]: must be a valid integer; got 2.5"),
        ({"family": "chi-squared", "gamma": [0]}, ".gamma[0]: must be greater than 0; got 0"),
        ({"family": "gaussian", "gamma": ["x"]}, ".gamma[0]: must be a valid number, or 'median'; got 'x'"),
        ({"family": "laplacian", "gamma": -1.5}, ".gamma: must be greater than 0; got -1.5"),
        ({"family": "laplacian", "gamma": [1, float("inf")]}, ".gamma[1]: must be a finite number; got inf"),
        ({"family": "chi-squared", "gamma": {"x": 1}}, ".gamma: must be a valid number"),
        ({"family": "matern", "nu": 3}, ".nu: must be 0.5, 1.5 or 2.5; got 3"),
        (
            {"family": "matern", "length_scale": [1, 0]},
            ".length_scale[1]: must be greater than 0; got 0",
        ),
        ({"family": "rational-quadratic", "alpha": -1}, ".alpha: must be greater than 0; got -1"),
        ({"family": "polynomial", "degree": 1.5}, ".degree: must be a valid integer; got 1.5"),
        ({"family": "polynomial", "degree": [2, 0]}, ".degree[1]: must be greater than or equal to 1; got 0"),
        ({"family": "polynomial", "coef0": -1}, ".coef0: must be greater than or equal to 0; got -1"),
        ({"family": "linear", "gamma": 1}, ": unknown key 'gamma'"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(synthetic_values(kernels=[table]), "sweep.toml")
    assert expected in str(caught.value)
    assert str(caught.value).count("dataset[0] (made).kernels") == 1  # one line per mistake


def test_the_schema_allows_a_value_and_a_list() -> None:
    gamma = Config.model_json_schema()["$defs"]["LaplacianFamily"]["properties"]["gamma"]
    number = {"exclusiveMinimum": 0, "type": "number"}
    one_or_many = {"oneOf": [number, {"items": number, "minItems": 1, "type": "array"}]}
    assert gamma["anyOf"] == [one_or_many, {"type": "null"}]
    assert "1 / number of features" in gamma["description"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_table_of_a_family_in_messages_is_valid(name: str) -> None:
    kernels = tomllib.loads(f"kernels = [{example_table(name)}]")["kernels"]
    assert parsed(config_values(kernels=kernels)).dataset[0].kernels
    assert kernels[0]["family"] == name
