"""What is stated about the data of two runs."""

from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.run.data_differences import data_differences
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import ROWS, config_values, parsed, put
from tests.helpers.sweeps import plan_in

RESULT = "so that errors cannot be compared trial by trial"


def begun(folder: Path, name: str, content: str = ROWS, seed: int = 0, **dataset: Any) -> Manifest:
    """Return the manifest of a run that has stored its data."""
    put(folder, content)
    plan_in(folder / name, parsed(config_values(**dataset) | {"seed": seed}), folder)
    return read_manifest(LocalStorage(folder / name))


@pytest.fixture
def first(tmp_path: Path) -> Manifest:
    return begun(tmp_path, "first")


def test_equal_data_are_not_stated(tmp_path: Path, first: Manifest) -> None:
    assert data_differences(first, begun(tmp_path, "second")) == []


def test_other_rows(tmp_path: Path, first: Manifest) -> None:
    found = data_differences(first, begun(tmp_path, "second", ROWS + "9,3,b\n"))
    assert found == [f"The data of 'things' differ (rows: 9 and 10; things.csv has another content), {RESULT}."]


def test_other_values(tmp_path: Path, first: Manifest) -> None:
    found = data_differences(first, begun(tmp_path, "second", ROWS.replace("0,0,", "0,7,")))
    assert found == [f"The data of 'things' differ (things.csv has another content), {RESULT}."]


def test_only_the_folds_differ(tmp_path: Path, first: Manifest) -> None:
    found = data_differences(first, begun(tmp_path, "second", seed=1))
    assert found == [f"The data of 'things' are the same, but its folds differ (seed: 0 and 1), {RESULT}."]


def test_other_samples_of_the_same_file(tmp_path: Path) -> None:
    manifests = [begun(tmp_path, str(seed), seed=seed, rows=8) for seed in (0, 1)]
    assert data_differences(*manifests) == [f"The data or the folds of 'things' differ, {RESULT}."]
