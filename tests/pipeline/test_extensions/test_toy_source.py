"""A data source and a file format that are registered from this folder, in a sweep with a built-in source."""

import copy
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.datasets import SOURCES
from kernel_pipeline.config.loading import config_digest, parse_config, to_toml
from kernel_pipeline.data.formats.format import FORMATS
from kernel_pipeline.data.raw_table import READERS
from kernel_pipeline.errors import ConfigError
from tests.helpers.build import dense, either, load, parsed, put, synthetic_values
from tests.helpers.sweeps import run_here
from tests.pipeline.test_extensions.registering import registered
from tests.pipeline.test_extensions.toy_format import SEMICOLONS
from tests.pipeline.test_extensions.toy_rows import DATASET, FEATURES, TARGET, put_rows
from tests.pipeline.test_extensions.toy_source import JsonLinesDataset, read_json_lines


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with (
        registered(SOURCES, "json-lines", JsonLinesDataset),
        registered(READERS, "json-lines", read_json_lines),
        registered(FORMATS, "semicolons", SEMICOLONS),
    ):
        yield


def values(**changes: Any) -> dict[str, Any]:
    """Return the values of a config with a dataset of the toy source and a synthetic one."""
    base = synthetic_values()
    return base | {"dataset": [*base["dataset"], copy.deepcopy(DATASET) | changes]}


def refused(**changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(values(**changes), "sweep.toml")
    return str(caught.value)


def test_a_sweep_runs_with_the_source_and_a_built_in_one(tmp_path: Path) -> None:
    put_rows(tmp_path)
    _, (_, samples), finished = run_here(tmp_path, parsed(values()))
    assert {name.split("/")[1] for name in finished} >= {"made", "toy"}
    assert not [entry for entry in finished.values() if entry.failed]
    expected = (FEATURES - FEATURES.min(axis=0)) / np.ptp(FEATURES, axis=0)
    np.testing.assert_allclose(dense(samples), expected[samples.order])
    np.testing.assert_array_equal(samples.targets["regression"], TARGET[samples.order])


def test_the_config_has_the_defaults_of_the_source_and_is_written_back() -> None:
    config = parsed(values())
    assert isinstance(config.dataset[1], JsonLinesDataset)
    assert parsed(tomllib.loads(to_toml(config))) == config == copy.deepcopy(config)
    assert parsed(values(factor=1)).dataset[1] == parsed(values(factor=1.0)).dataset[1]
    assert len({config_digest(parsed(values(factor=factor))) for factor in (1.0, 2.0)}) == 2
    assert parsed({**synthetic_values(), "dataset": config.dataset}).dataset == config.dataset


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"factor": 0}, "dataset[1] (toy).factor: must be greater than 0; got 0"),
        ({"fctor": 1}, "dataset[1] (toy): unknown key 'fctor'; did you mean 'factor'?"),
        (
            {"source": "json"},
            "dataset[1] (toy).source: must be one of 'file', 'openml', 'sklearn', 'synthetic', 'text', 'sentiment', "
            "'json-lines'; got 'json'",
        ),
        ({"source": ["json-lines"]}, "dataset[1] (toy).source: must be one of"),
    ],
)
def test_messages_name_the_source_and_its_keys(changes: dict[str, Any], expected: str) -> None:
    assert expected in refused(**changes)


def test_the_schema_describes_the_source_and_the_format() -> None:
    schema = json.loads(CliRunner().invoke(main, ["config", "schema"]).stdout)
    described = schema["$defs"]["JsonLinesDataset"]
    assert described["properties"]["factor"]["description"] == "factor of all features"
    assert (described["properties"]["source"]["const"], described["additionalProperties"]) == ("json-lines", False)
    items = schema["properties"]["dataset"]["items"]
    assert items["discriminator"]["mapping"]["json-lines"] == "#/$defs/JsonLinesDataset"
    assert {"$ref": "#/$defs/JsonLinesDataset"} in items["oneOf"]
    assert schema["$defs"]["FileDataset"]["properties"]["format"]["enum"][-1] == "semicolons"


def test_a_file_of_the_new_format(tmp_path: Path) -> None:
    rows = "".join(f"{i},5;{i * i % 7},25;{'ab'[i % 2]}\n" for i in range(9))
    put(tmp_path, "u;v;label\n" + rows, "toy.txt")
    samples = load(tmp_path, path="toy.txt", format="semicolons", target="label")
    expected = np.array([[i + 0.5, i * i % 7 + 0.25] for i in range(9)])
    np.testing.assert_array_equal(samples.features, expected[samples.order])
    with pytest.raises(ConfigError, match=f"must be {either(FORMATS)}; got 'semicolon'"):
        load(tmp_path, path="toy.txt", format="semicolon")


def test_unregistered_sources_and_formats_are_unknown() -> None:
    SOURCES.unregister("json-lines")
    FORMATS.unregister("semicolons")
    try:
        text = refused()
        schema = CliRunner().invoke(main, ["config", "schema"]).stdout
    finally:
        SOURCES.register("json-lines")(JsonLinesDataset)
        FORMATS.register("semicolons")(SEMICOLONS)
    assert "must be one of 'file', 'openml', 'sklearn', 'synthetic', 'text', 'sentiment'; got 'json-lines'" in text
    assert "JsonLines" not in schema
    assert "semicolons" not in schema


def test_a_config_is_parsed_without_the_libraries_that_only_readers_need() -> None:
    code = (
        "import sys\n"
        "from kernel_pipeline.config.loading import read_config, shipped_configs\n"
        "[read_config(name) for name in shipped_configs()]\n"
        "print(*{'pandas', 'sklearn', 'distributed'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
