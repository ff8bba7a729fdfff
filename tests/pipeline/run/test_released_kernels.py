"""Combined kernels of finished cells are removed, and computed again if a fit needs them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kernel_pipeline as kp
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.profiles import find_profile
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.released_kernels import released_kernels
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.run.sweeps import resume_sweep
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.sweeps import SMALL, entries_of, flip, forget, run_here

SWEEP: dict[str, Any] = SMALL | {
    "baselines": False,
    "methods": ["unif", "alignf"],
    "storage": {"tile": 37},
    "dataset": [dataset | {"rows": 50} for dataset in SMALL["dataset"]],
}
FIT = "fits/wave/regression/unif/2"
COMBINE = "combine/wave/regression/unif/0"


def kernels(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.glob("combined.zarr/**/c/**/*") if path.is_file())


def tables(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("results/*.csv") if path.name != "timings.csv"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    kp.run(SWEEP, cluster="threads", out=tmp_path / "run")
    return tmp_path / "run"


def resume(root: Path) -> list[str]:
    """Resume a run, and return the names of the tasks that were executed."""
    before = entries_of(root)
    outcome = resume_sweep(LocalStorage(root), None, Options(find_profile("threads", None, False, False)))
    assert outcome.exit_code == 0
    return [name for name, entry in entries_of(root).items() if entry != before.get(name) and "/" in name]


def test_no_kernel_is_left_of_a_finished_run_and_nothing_is_missing(root: Path) -> None:
    assert kernels(root) == []
    assert (root / "combined.zarr/wave/regression/unif/zarr.json").exists()
    found = verify_run(LocalStorage(root))
    assert (list(found.problems), found.exit_code) == ([], 0)
    assert resume(root) == []


def test_the_kernel_of_a_fit_that_is_pending_again_is_recomputed(root: Path) -> None:
    before = tables(root)
    forget(root, FIT)
    assert sorted(resume(root)) == sorted([COMBINE, FIT])
    assert kernels(root) == []  # also those of the other trials, which were written again
    assert tables(root) == before
    assert verify_run(LocalStorage(root)).exit_code == 0


def test_kernels_that_a_killed_process_left_are_removed(tmp_path: Path) -> None:
    plan, _, _ = run_here(tmp_path, parse_config(SWEEP, "a test"))  # does not remove kernels
    assert len(kernels(tmp_path)) == sum(len(task.tiles) * 4 for d in plan.datasets for task in d.of(CombineTask))
    forget(tmp_path, FIT)
    assert resume(tmp_path) == [FIT]
    assert kernels(tmp_path) == []


def test_kernels_are_kept_on_request_and_then_verified(tmp_path: Path) -> None:
    kp.run(SWEEP, cluster="threads", out=tmp_path, settings={"storage.keep_combined": True})
    chunk = "combined.zarr/wave/regression/unif/c/2/0/1"
    assert chunk in kernels(tmp_path)
    flip(tmp_path / chunk)
    (problem,) = verify_run(LocalStorage(tmp_path)).problems
    assert (problem.key, problem.entry) == (chunk, COMBINE)


def test_the_kernel_of_a_failed_fit_is_kept(tmp_path: Path) -> None:
    plan, _, finished = run_here(tmp_path, parse_config(SWEEP, "a test"))
    (wave,) = (dataset for dataset in plan.datasets if dataset.name == "wave")
    (fit,) = (task for task in wave.of(FitTask) if task.name == FIT)
    assert fit.kernel_prefix in released_kernels(plan, wave, finished)
    failed = finished | {FIT: replace(finished[FIT], result_json=b'{"status": "failed: it"}')}
    assert fit.kernel_prefix not in released_kernels(plan, wave, failed)
    pending: dict[str, TaskReport] = {name: report for name, report in finished.items() if name != FIT}
    assert fit.kernel_prefix not in released_kernels(plan, wave, pending)
