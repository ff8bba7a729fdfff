import shutil
from pathlib import Path

import pytest

from tests.faults.harness import write_config
from tests.helpers.sweeps import pipeline


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run without faults, with its config `tiny.toml` beside it. Tests copy it and must not change it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    write_config(folder)
    done = pipeline("run", "tiny.toml", "--workers", "2", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture
def root(undisturbed: Path, tmp_path: Path) -> Path:
    """A copy of the finished run, with its config beside it."""
    shutil.copy(undisturbed.parent / "tiny.toml", tmp_path)
    return shutil.copytree(undisturbed, tmp_path / "run")
