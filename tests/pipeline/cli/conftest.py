"""Folders that the tests of refused runs share."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.build import ROWS, config_values, parsed, put, put_config
from tests.helpers.sweeps import plan_in


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, where no cluster may start."""

    def no_cluster(*arguments: Any) -> None:
        raise AssertionError("a cluster is started")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kernel_pipeline.run.options.open_cluster", no_cluster)
    return tmp_path


@pytest.fixture
def begun(folder: Path) -> Path:
    """A directory in which the sweep of sweep.toml was begun."""
    put(folder, ROWS)
    put_config(folder, config_values())
    plan_in(folder / "begun", parsed(config_values()), folder)
    return folder / "begun"
