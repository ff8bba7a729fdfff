"""Fixtures for the tests of refused runs."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.build import ROWS, config_values, parsed, put, put_config
from tests.helpers.sweeps import plan_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory, and let every attempt to start a cluster fail."""

    def no_cluster(*arguments: Any) -> None:
        raise AssertionError("a cluster is started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernel_pipeline.run.options.open_cluster", no_cluster)
    return tmp_path


@pytest.fixture
def begun(folder: Path) -> Path:
    """Return a run directory in which the sweep of sweep.toml has started."""
    put(folder, ROWS)
    put_config(folder, config_values())
    plan_in(folder / "begun", parsed(config_values()), folder)
    return folder / "begun"
