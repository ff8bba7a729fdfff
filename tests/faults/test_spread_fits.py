"""Ridge paths whose kernel is spread over all workers: processes that die during a solve do not change the tables."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.faults.harness import assert_same, command, no_workers, write_config
from tests.faults.inject import ALWAYS, Fault, FaultyRun, run_with

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

# A fit of n = 100 training samples in one piece needs 102 KiB. Each ridge is factorised.
CONFIG: dict[str, Any] = {
    "name": "tiny",
    "baselines": False,
    "methods": ["unif"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -16, "to": 0, "step": 8}, "memory": "100 KiB"},
    "storage": {"tile": 8, "gram": "recompute"},
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 300,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 1]}],
        }
    ],
}
STEPS = "kernel_pipeline.tasks.learners.panel_steps"
PANEL = "kernel_pipeline.stages.panel_fits:compute_panel"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in which one process held all panels."""
    folder = tmp_path_factory.mktemp("reference")
    write_config(folder, CONFIG)
    with no_workers():
        done = command("run", folder / "tiny.toml", "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path, CONFIG)
    return tmp_path


def run_args(folder: Path, workers: int) -> tuple[str | Path, ...]:
    return ("run", "tiny.toml", "--workers", str(workers), "--out", folder / "run")


@pytest.mark.parametrize("workers", [2, 4])
def test_tables_do_not_depend_on_the_number_of_workers(folder: Path, reference: Path, workers: int) -> None:
    counted = Fault(PANEL, "sleep", times=0)
    run, done = run_with(*run_args(folder, workers), cwd=folder, faults=[counted])
    assert done.returncode == 0, done.stderr
    assert run.calls() > 100  # one call per panel, since the panels are spread over the workers
    assert_same(folder / "run", reference)


@pytest.mark.parametrize(
    "kills",
    [
        [(PANEL, 3), (f"{STEPS}:multiply", 40)],
        [(f"{STEPS}:subtract_product", 30), (f"{STEPS}:substitute_backward", 10)],
    ],
    ids=["kernel", "factor"],
)
def test_run_survives_workers_dying_during_a_solve(folder: Path, reference: Path, kills: list[tuple[str, int]]) -> None:
    faults = [Fault(where, "kill", first=first) for where, first in kills]
    run, done = run_with(*run_args(folder, 3), cwd=folder, faults=faults)
    assert done.returncode == 0, done.stderr
    assert all(run.calls(number) > first for number, (_, first) in enumerate(kills))
    assert_same(folder / "run", reference)


def test_run_whose_driver_dies_during_a_solve_is_resumed(folder: Path, reference: Path) -> None:
    fault = Fault(f"{STEPS}:substitute_forward", "kill the driver", first=25, seconds=1)
    _, done = run_with(*run_args(folder, 2), cwd=folder, faults=[fault])
    assert done.returncode == -9
    _, done = run_with(*run_args(folder, 2), cwd=folder, notes=folder / "later")
    assert done.returncode == 0, done.stderr
    assert_same(folder / "run", reference)


@pytest.mark.slow
def test_steps_that_exhaust_the_memory_fail_their_cells(tmp_path: Path) -> None:
    write_config(tmp_path, CONFIG | {"fit": {"krr": {"from": -8, "to": -8}, "memory": "100 KiB"}})
    fault = Fault(f"{STEPS}:factorise", "kill", times=ALWAYS)
    with FaultyRun(*run_args(tmp_path, 3), cwd=tmp_path, faults=[fault]) as run:
        done = run.end(seconds=500)
    assert done.returncode == 3, done.stderr
    status = pd.read_csv(tmp_path / "run/results/rows.csv")["status"]
    assert len(status) == 3
    assert status.str.contains("died").all()
    assert status.str.contains("killed, or ran out of memory").all()
    with no_workers():
        assert command("run", tmp_path / "tiny.toml", "--out", tmp_path / "run", "--retry-failed").exit_code == 0
    assert (pd.read_csv(tmp_path / "run/results/rows.csv")["status"] == "ok").all()
