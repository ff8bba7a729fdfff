"""The JSON schema of a config."""

import json

from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.datasets import SOURCES
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.tasks.weights.method import METHODS
from tests.helpers.build import leaves
from tests.pipeline.config.full_config import FULL


def test_schema_is_json_and_mentions_every_key() -> None:
    result = CliRunner().invoke(main, ["config", "schema"])
    assert result.exit_code == 0
    schema = json.loads(result.stdout)
    assert set(schema["properties"]) == set(Config.model_fields)
    for place, _ in leaves(FULL):
        assert all(f'"{part}"' in result.stdout or part in ("A", "G") for part in place if isinstance(part, str))
    for method in METHODS:
        assert f'"{method}"' in result.stdout


def test_schema_lists_every_source_by_its_name() -> None:
    dataset = Config.model_json_schema()["properties"]["dataset"]["items"]
    assert list(dataset["discriminator"]["mapping"]) == sorted(SOURCES)
    assert len(dataset["oneOf"]) == len(SOURCES)
