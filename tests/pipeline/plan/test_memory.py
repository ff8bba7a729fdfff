"""The memory of tasks, measured in a new process, compared with the projection of the plan."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.cluster.settings import ENVIRONMENT
from kernel_pipeline.run.peak_memory import measured_peak
from tests.helpers.build import PROJECT

# At these sizes, arrays take more memory than libraries. Only the first trial of each cell is measured.
SCRIPT = """
import json, sys
from pathlib import Path
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.run.worker import run_tasks
from tests.helpers.sweeps import plan_in

root, values = Path(sys.argv[1]), json.loads(sys.argv[2])
plan, _ = plan_in(root, parse_config(values, "a test"))
for dataset in plan.datasets:
    for stage, tasks in dataset.stages.items():
        for task in tasks:
            if not isinstance(task, CellTask) or task.trial == 0:
                (done,) = run_tasks([task], RunStore(LocalStorage(root)))
                assert done.result.get("status", "ok") == "ok", done.result
                print(json.dumps([task.name, done.peak_memory, dataset.memory[stage]]))
"""
GRID = {"from": 0, "to": 4, "step": 4}
POINT = {"from": -4, "to": -4}
SWEEP: dict[str, Any] = {
    "name": "large",
    "protocol": {"folds": 3},
    "storage": {"tile": 1500},
    "fit": {
        "krr": GRID,
        "svm": GRID,
        "l1-svm": GRID,
        "l2-krr": GRID,
        "align-krr": {"gamma": POINT, "gamma1": POINT, "gamma2": POINT},
    },
}


def gaussians(rows: int, kernels: int) -> list[dict[str, Any]]:
    family = {"family": "gaussian", "log2_gamma": [-kernels, -1]}
    return [
        {"name": task, "source": "synthetic", "task": task, "rows": rows, "kernels": [family]}
        for task in ("regression", "classification")
    ]


def columns(rows: int, count: int) -> list[dict[str, Any]]:
    """Return datasets with rank-one kernels of the columns of a libsvm file, which `put_columns` writes."""
    return [
        {
            "name": task,
            "task": task,
            "source": "file",
            "format": "libsvm",
            "path": f"{rows}-{count}.svm",
            "kernels": [{"family": "rank-one"}],
        }
        for task in ("regression", "classification")
    ]


def put_columns(path: Path) -> None:
    rows, count = map(int, path.stem.split("-"))
    values = np.random.default_rng(0).integers(1, 10, (rows, count))
    labels = np.where(values[:, :4].sum(axis=1) > 20, 1, -1)
    lines = (
        f"{label} {' '.join(f'{k}:{v}' for k, v in enumerate(row, 1))}"
        for label, row in zip(labels, values, strict=True)
    )
    path.write_text("\n".join(lines))


CASES: dict[str, tuple[list[str], list[dict[str, Any]], set[str]]] = {
    "two stages": (["unif", "alignf"], gaussians(2000, 6), {"tiles", "reduce", "weights", "combine", "fits"}),
    "recomputed": (
        ["unif", "alignf-linear"],
        gaussians(2000, 6),
        {"tiles", "reduce", "weights", "fits"},
    ),
    "recomputed, one stage": (["l2-krr", "each-kernel"], gaussians(1200, 8)[:1], {"tiles", "reduce", "fits"}),
    "one stage": (
        ["l1-svm", "l2-krr", "align-krr", "each-kernel"],
        gaussians(1500, 8),
        {"tiles", "reduce", "fits"},
    ),
    "steps of each trial": (
        ["unif", "alignf", "l2-krr"],
        [dataset | {"scale": "standard", "fit_on": "train"} for dataset in gaussians(1500, 6)],
        {"tiles", "reduce", "weights", "combine", "fits"},
    ),
    # Here M and the sums of its size are larger than the Gram matrices.
    "many kernels": (
        ["unif", "alignf", "l2-krr"],
        gaussians(60, 1000)[:1],
        {"tiles", "reduce", "weights", "combine", "fits"},
    ),
    "many columns": (["alignf", "best-kernel", "l1-svm", "l2-krr"], columns(150, 12_000), {"reduce", "fits"}),
    "all products": (["alignf-linear", "align-krr"], columns(200, 2000)[:1], {"reduce", "fits"}),
}
WITH_BASELINES = {"recomputed", "many columns"}


@pytest.mark.parametrize("case", CASES)
def test_no_task_takes_more_memory_than_projected(case: str, tmp_path: Path) -> None:
    methods, datasets, stages = CASES[case]
    mode = {"storage": SWEEP["storage"] | {"gram": "recompute" if "recomputed" in case else "keep"}}
    for path in {dataset["path"] for dataset in datasets if "path" in dataset}:
        put_columns(tmp_path / path)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            SCRIPT,
            str(tmp_path),
            json.dumps(SWEEP | mode | {"methods": methods, "dataset": datasets, "baselines": case in WITH_BASELINES}),
        ],
        cwd=PROJECT,
        env=os.environ | ENVIRONMENT | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    measured = [json.loads(line) for line in done.stdout.splitlines()]
    assert {name.partition("/")[0] for name, _, _ in measured} == stages
    for name, peak, projected in measured:
        assert peak <= projected, name
    # If the projection were far too large, sweeps that could run would be refused.
    assert max(peak for _, peak, _ in measured) >= 0.5 * max(projected for _, _, projected in measured)


def test_the_peak_is_that_of_the_block() -> None:
    with measured_peak() as small:
        pass
    with measured_peak() as large:
        block = bytearray(200 << 20)
        block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])
    assert large[0] - small[0] >= 190 << 20
    del block


def test_the_peak_of_the_process_is_reported_if_the_system_cannot_reset_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.run.peak_memory.sys.platform", "darwin")
    with measured_peak() as peak:
        pass
    assert peak[0] > 0
