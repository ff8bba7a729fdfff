"""Methods and their grids in a config: names, tables of parameters, and methods that are registered later."""

import pickle
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

from kernel_pipeline.config.loading import config_digest, parse_config, to_toml
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.parameters import ParameterError, parameter
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.method import METHODS, Grid
from kernel_pipeline.tasks.weights.unif import Unif
from tests.helpers.build import parsed, synthetic_values


@dataclass(frozen=True)
class Later(OneStageMethod):
    """A method with parameters and grids."""

    name: ClassVar[str] = "later-on"
    problems: ClassVar[tuple[str, ...]] = ("regression",)
    grids: ClassVar[tuple[Grid, ...]] = (
        Grid(0, 2, 1, "first", "one"),
        Grid(3, 5, 2, "second", "two-more", descending=True),
    )
    max_certificate: ClassVar[float] = 1.0

    degree: int = parameter("of a polynomial", ge=1, le=3)
    scale: float = parameter("of the weights", default=2.0)

    def __post_init__(self) -> None:
        if self.degree == 3 and self.scale > 10:
            raise ParameterError("scale", f"must not be above 10 for degree 3; got {self.scale:g}")

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        raise NotImplementedError


@pytest.fixture
def later() -> Iterator[None]:
    METHODS.register(Later.name)(Later)
    yield
    METHODS.unregister(Later.name)


def with_methods(*methods: object) -> Config:
    return parsed(synthetic_values() | {"methods": list(methods)})


def message(*methods: object) -> str:
    with pytest.raises(ConfigError) as caught:
        with_methods(*methods)
    return str(caught.value)


def test_a_table_without_parameters_is_the_method_of_that_name() -> None:
    config = with_methods({"method": "align"}, {"method": "unif"})
    assert config.methods == [Align(), Unif()]
    assert to_toml(config) == to_toml(with_methods("align", "unif"))


def test_a_config_may_contain_a_method_object() -> None:
    assert with_methods(Align(2.0), "unif") == with_methods({"method": "align", "q": 2}, "unif")


def test_a_method_is_unknown_until_it_is_registered() -> None:
    assert "'later-on'" in message({"method": "later-on", "degree": 1})
    with pytest.raises(ConfigError, match="unknown key 'later-on'"):
        parsed(synthetic_values() | {"fit": {"later-on": {}}})


@pytest.mark.usefixtures("later")
def test_a_method_that_is_registered_later() -> None:
    config = with_methods({"method": "later-on", "degree": 2}, "unif")
    assert config.methods == [Later(2), Unif()]
    assert config.methods[0].method_id == "later-on-degree2-scale2"
    assert list(config.fit.grids("regression", config.methods[0])) == ["fit.later-on.one", "fit.later-on.two-more"]
    assert config.fit.path("regression", config.methods[0]) == [(a, b) for a in (1.0, 2.0, 4.0) for b in (32.0, 8.0)]
    assert tomllib.loads(to_toml(config))["methods"][0] == {"method": "later-on", "degree": 2, "scale": 2.0}
    again = parse_config(Config.model_dump(config, by_alias=True, mode="json", exclude_none=True), "a dump")
    assert again == config
    assert "[fit.later-on.two-more]\nfrom = 3\nto = 5\nstep = 2\n" in to_toml(config)


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"degree": 0}, "methods[0].degree: must be greater than or equal to 1; got 0"),
        ({"degree": 4}, "methods[0].degree: must be less than or equal to 3; got 4"),
        ({}, "methods[0].degree: is missing"),
        ({"degree": 1, "scal": 1}, "methods[0]: unknown key 'scal'; did you mean 'scale'? Allowed: method, degree"),
        ({"degree": 1, "scale": float("nan")}, "methods[0].scale: must be a finite number"),
        ({"degree": 3, "scale": 11}, "methods[0].scale: must not be above 10 for degree 3; got 11"),
    ],
)
def test_parameters_are_checked(table: dict[str, object], expected: str) -> None:
    assert expected in message({"method": "later-on", **table})


@pytest.mark.usefixtures("later")
def test_a_name_alone_is_refused_if_a_parameter_is_required() -> None:
    assert "methods[0].degree: is missing" in message("later-on")


@pytest.mark.usefixtures("later")
def test_the_schema_contains_registered_methods() -> None:
    schema = Config.model_json_schema()
    names, *tables = schema["properties"]["methods"]["items"]["anyOf"]
    assert names["enum"][-1] == "later-on"
    with_parameters = [name for name, method in METHODS.items() if fields(method)]
    assert with_parameters[-1] == "later-on"
    assert [table["properties"]["method"]["const"] for table in tables] == with_parameters
    assert tables[-1]["properties"]["degree"]["description"] == "of a polynomial"
    assert "later-on" in schema["$defs"]["Fit"]["properties"]
    assert schema["properties"]["fit"]["default"]["later-on"]["one"] == {"from": 0, "to": 2, "step": 1}


def test_a_registered_method_leaves_other_configs_as_they_are() -> None:
    before = with_methods("unif")
    METHODS.register(Later.name)(Later)
    try:
        after = with_methods("unif")
        assert to_toml(after) == to_toml(before)
        assert config_digest(after) == config_digest(before)
    finally:
        METHODS.unregister(Later.name)


@pytest.mark.usefixtures("later")
def test_a_config_can_be_pickled() -> None:
    config = with_methods({"method": "later-on", "degree": 1})
    assert pickle.loads(pickle.dumps(config)) == config
