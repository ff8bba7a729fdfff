import os
from pathlib import Path

# The setting of workers, twice as fast for the small matrices of the tests; it is read when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE
from tests.helpers.few_figures import draw_few

draw_few()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read the paper's datasets."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    folder = os.environ.get(DATA_DIR_VARIABLE)
    if not folder:
        pytest.skip(f"needs the paper's datasets: set {DATA_DIR_VARIABLE} to their folder (configs/README.md, 'Data')")
    return Path(folder)


@pytest.fixture(autouse=True)
def _no_data_dir_by_accident(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests that do not ask for the real data must not find them.
    if "data_dir" not in request.fixturenames:
        monkeypatch.delenv(DATA_DIR_VARIABLE, raising=False)
