from pathlib import Path

import pytest

from tests.pipeline.models.example_run import run_example


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run whose cells are all finished, and of its sources."""
    folder = tmp_path_factory.mktemp("example")
    run_example(folder)
    return folder
