from pathlib import Path

import pytest

from tests.pipeline.models.example_run import run_example


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished run, which also contains its sources."""
    folder = tmp_path_factory.mktemp("example")
    run_example(folder)
    return folder
