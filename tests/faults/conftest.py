from pathlib import Path

import pytest

from tests.faults.harness import write_config
from tests.helpers.sweeps import pipeline


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that nothing went wrong with; its config, `tiny.toml`, lies beside it. To be copied only."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_config(folder)
    done = pipeline("run", "tiny.toml", "--workers", "2", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"
