"""Combined kernels of finished cells are removed, and computed again if a fit needs them."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.profiles import find_profile
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.maintenance import clean_run
from kernel_pipeline.run.released_kernels import released_kernels
from kernel_pipeline.run.repair import repair_run, verify_run
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


@pytest.fixture
def outdated(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run without combined kernels, whose fits of combined kernels were made with an earlier algorithm."""
    monkeypatch.setattr(FitTask, "version", FitTask.version + 1)
    return root


def tasks(root: Path, stage: str) -> set[str]:
    return {name for name in entries_of(root) if name.startswith(f"{stage}/")}


def test_no_kernel_is_left_of_a_finished_run_and_nothing_is_missing(root: Path) -> None:
    assert kernels(root) == []
    assert (root / "combined.zarr/wave/regression/unif/zarr.json").exists()
    found = verify_run(LocalStorage(root))
    assert (list(found.findings), found.exit_code) == ([], 0)
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


def test_a_kernel_that_a_running_process_removes_is_not_damage(tmp_path: Path) -> None:
    """The process has finished a fit and removed its kernel after `pipeline status` has read the ledger."""
    run_here(tmp_path, parse_config(SWEEP, "a test"))
    forget(tmp_path, FIT)
    shutil.rmtree(tmp_path / "combined.zarr/wave/regression/unif/c/2")
    (tmp_path / "lock").write_text('{"host": "another", "pid": 7, "since": "noon"}')
    shown = CliRunner().invoke(main, ["status", str(tmp_path)]).stdout
    total = len(entries_of(tmp_path)) - 3 + 1  # without the config and the data, with the fit
    assert shown.splitlines()[1:] == [
        "1 is left: 1 not run yet.",
        "The run is being executed by process 7 on another, since noon.",
    ]
    assert shown.startswith(f"small: {total - 1} of {total} tasks are done: ")


def test_kernels_are_kept_on_request_and_then_verified(tmp_path: Path) -> None:
    kp.run(SWEEP, cluster="threads", out=tmp_path, settings={"storage.keep_combined": True})
    chunk = "combined.zarr/wave/regression/unif/c/2/0/1"
    assert chunk in kernels(tmp_path)
    flip(tmp_path / chunk)
    (finding,) = verify_run(LocalStorage(tmp_path)).findings
    assert (finding.key, finding.entry) == (chunk, COMBINE)


def test_the_kernel_of_a_failed_fit_is_kept(tmp_path: Path) -> None:
    plan, _, finished = run_here(tmp_path, parse_config(SWEEP, "a test"))
    (wave,) = (dataset for dataset in plan.datasets if dataset.name == "wave")
    (fit,) = (task for task in wave.of(FitTask) if task.name == FIT)
    assert fit.kernel_prefix in released_kernels(plan, wave, finished)
    failed = finished | {FIT: replace(finished[FIT], result_json=b'{"status": "failed: it"}')}
    assert fit.kernel_prefix not in released_kernels(plan, wave, failed)
    pending: dict[str, TaskReport] = {name: report for name, report in finished.items() if name != FIT}
    assert fit.kernel_prefix not in released_kernels(plan, wave, pending)


def test_kernels_that_outdated_fits_need_again_are_not_damage(outdated: Path) -> None:
    found = verify_run(LocalStorage(outdated))
    assert (list(found.findings), found.exit_code) == ([], 0)
    assert found.outdated == len(tasks(outdated, "fits"))
    assert found.removed == len(tasks(outdated, "combine"))
    shown = CliRunner().invoke(main, ["verify", str(outdated)])
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0] == f"All {found.files:,} files are intact."
    assert f"{found.outdated} tasks are outdated" in shown.stdout
    assert f"`pipeline resume {outdated}` recomputes them" in " ".join(shown.stdout.split())
    shown = CliRunner().invoke(main, ["status", str(outdated)])
    assert f"{found.removed} whose files were removed and are needed again" in " ".join(shown.stdout.split())
    assert "is missing" not in shown.stdout


def test_outdated_fits_are_recomputed_with_their_kernels_when_the_run_is_resumed(outdated: Path) -> None:
    before = tables(outdated)
    assert set(resume(outdated)) == tasks(outdated, "fits") | tasks(outdated, "combine")
    assert tables(outdated) == before
    assert kernels(outdated) == []
    found = verify_run(LocalStorage(outdated))
    assert (found.exit_code, found.outdated, found.removed) == (0, 0, 0)


def repair(root: Path) -> list[str]:
    """Repair a run, and return the names of the tasks that were executed."""
    before = entries_of(root)
    repaired = repair_run(LocalStorage(root), None, Options(find_profile("threads", None, False, False)))
    assert repaired.exit_code == 0
    return [name for name, entry in entries_of(root).items() if entry != before.get(name) and "/" in name]


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_a_repair_leaves_outdated_fits_to_a_resumed_run(outdated: Path, is_cleaned: bool) -> None:
    if is_cleaned:
        clean_run(LocalStorage(outdated))
    before = tables(outdated)
    assert verify_run(LocalStorage(outdated)).exit_code == 0
    assert repair(outdated) == []
    assert kernels(outdated) == []
    assert verify_run(LocalStorage(outdated)).exit_code == 0
    assert resume(outdated) != []
    assert tables(outdated) == before
    assert verify_run(LocalStorage(outdated)).outdated == 0


@pytest.mark.parametrize("is_cleaned", [False, True])
def test_damage_beside_outdated_fits_is_reported_alone_and_repaired(outdated: Path, is_cleaned: bool) -> None:
    if is_cleaned:
        clean_run(LocalStorage(outdated))
    before, key = tables(outdated), "weights.zarr/wave/regression/alignf/c/1/0"
    flip(outdated / key)
    (finding,) = verify_run(LocalStorage(outdated)).findings
    assert finding.key == key
    assert finding.entry in repair(outdated)
    assert verify_run(LocalStorage(outdated)).exit_code == 0
    resume(outdated)
    assert tables(outdated) == before


def test_the_missing_kernel_of_a_fit_that_never_finished_is_damage(outdated: Path) -> None:
    forget(outdated, FIT)
    findings = verify_run(LocalStorage(outdated)).findings
    of_trial = [key for key in entries_of(outdated)[COMBINE].digests if f"/unif/c/{FIT[-1]}/" in key]
    assert of_trial
    assert {(finding.key, finding.what, finding.entry) for finding in findings} == {
        (key, "is missing", COMBINE) for key in of_trial
    }


def test_the_kernel_of_a_damaged_fit_is_computed_again_without_counting_as_damage(root: Path) -> None:
    before, fit = tables(root), entries_of(root)[FIT]
    (root / next(iter(fit.digests))).unlink()
    (finding,) = verify_run(LocalStorage(root)).findings
    assert finding.entry == FIT
    assert sorted(repair(root)) == sorted([COMBINE, FIT])
    assert (tables(root), kernels(root)) == (before, [])
    assert verify_run(LocalStorage(root)).exit_code == 0
