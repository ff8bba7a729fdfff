import shutil
from pathlib import Path

import pytest

from kernel_pipeline.plan.plan import Plan
from tests.helpers.sweeps import resume_here, run_here, smaller_config


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    """A finished run, tables and all, and its plan; to be looked at only."""
    root = tmp_path_factory.mktemp("finished")
    plan = run_here(root, smaller_config())[0]
    assert resume_here(root)[0] == 0
    return root, plan


@pytest.fixture
def plan(finished: tuple[Path, Plan]) -> Plan:
    return finished[1]


@pytest.fixture
def root(finished: tuple[Path, Plan], tmp_path: Path) -> Path:
    """A copy of the finished run, to be spoiled."""
    return shutil.copytree(finished[0], tmp_path / "run")
