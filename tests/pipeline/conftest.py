import shutil
from pathlib import Path

import pytest

from kernel_pipeline.plan.plan import Plan
from tests.helpers.sweeps import resume_here, run_here, smaller_config


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """Return a finished run with its tables, which tests must not change, and its plan."""
    root = tmp_path_factory.mktemp("finished")
    plan = run_here(root, smaller_config())[0]
    assert resume_here(root)[0] == 0
    return root, plan


@pytest.fixture
def plan(finished: tuple[Path, Plan]) -> Plan:
    return finished[1]


@pytest.fixture
def root(finished: tuple[Path, Plan], tmp_path: Path) -> Path:
    """Return a copy of the finished run, which tests may damage."""
    return shutil.copytree(finished[0], tmp_path / "run")
