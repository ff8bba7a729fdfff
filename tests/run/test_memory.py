"""What a task takes, measured in a fresh process, against what the plan says it takes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.local import ENVIRONMENT
from pipeline.memory import measured_peak

# Sizes at which arrays, not libraries, make up most of the memory.
SCRIPT = """
import json, sys
from pathlib import Path
from tests.run.sweeps import run_here
from pipeline.config_file import parse_config

kernels = [{"family": "gaussian", "log2_gamma": [-6, -1]}]
grid = {"from": 0, "to": 4, "step": 4}
config = parse_config({
    "name": "large", "methods": ["unif", "alignf"], "protocol": {"folds": 3}, "storage": {"tile": 1500},
    "fit": {"krr": grid, "svm": grid},
    "dataset": [
        {"name": task, "source": "synthetic", "task": task, "rows": 2000, "kernels": kernels}
        for task in ("regression", "classification")
    ],
}, "a test")
plan, _, finished = run_here(Path(sys.argv[1]), config)
print(json.dumps([
    [task.name, finished[task.name].peak_memory, dataset.memory[stage]]
    for dataset in plan.datasets for stage, tasks in dataset.stages.items() for task in tasks
]))
"""


def test_no_task_takes_more_than_the_plan_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    )
    measured = json.loads(done.stdout)
    assert {name.partition("/")[0] for name, _, _ in measured} == {"tiles", "reduce", "weights", "combine", "fits"}
    for name, peak, projected in measured:
        assert peak <= projected, name
    # A projection that is far too large refuses sweeps that would run.
    assert max(peak for _, peak, _ in measured) >= 0.5 * max(projected for _, _, projected in measured)


def test_the_peak_is_that_of_the_block() -> None:
    with measured_peak() as small:
        pass
    with measured_peak() as large:
        block = bytearray(200 << 20)
        block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])
    assert large[0] - small[0] >= 190 << 20
    del block


def test_where_the_system_cannot_reset_its_peak_the_largest_so_far_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.memory.sys.platform", "darwin")
    with measured_peak() as peak:
        pass
    assert peak[0] > 0
