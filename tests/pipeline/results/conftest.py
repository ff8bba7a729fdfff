"""One small run, shared by all tests of figures and of the report."""

from pathlib import Path

import pytest

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.drawn import drawn_config
from tests.helpers.sweeps import run_here

Drawn = tuple[Path, Plan, dict[str, TaskReport]]


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """Return the directory, the plan and the finished tasks of the run."""
    root = tmp_path_factory.mktemp("drawn")
    plan, _, finished = run_here(root, drawn_config())
    return root, plan, finished
