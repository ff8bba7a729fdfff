"""Failed tasks and their dependents are retried, even if other parts of the run are damaged or cleaned."""

import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.plan.plan import make_plan
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.run.worker import run_batch
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.weights.alignf import Alignf
from tests.faults.harness import TINY, CrashError, added, assert_same, command, flip, lines, no_workers, write_config

pytestmark = pytest.mark.faults

CONFIG = "tiny.toml"


def fail_to_solve(*_: object) -> Any:
    raise NoResultError("the solver did not converge")


@pytest.fixture(scope="module")
def failed(undisturbed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every solve of alignf failed."""
    root = tmp_path_factory.mktemp("failed") / "run"
    with pytest.MonkeyPatch.context() as patch, no_workers():
        patch.setattr(Alignf, "weights", fail_to_solve)
        done = command("run", undisturbed.parent / CONFIG, "--out", root)
    assert done.exit_code == 3, done.output
    assert "wave, regression, alignf, trial 0 failed: the solver did not converge" in done.output
    return root


@pytest.fixture
def root(failed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(failed, tmp_path / "run")


def retry(root: Path) -> None:
    with no_workers():
        done = command("resume", root, "--retry-failed")
    assert done.exit_code == 0, done.output


def test_weights_found_by_a_retry_are_combined_and_fitted(root: Path, failed: Path, undisturbed: Path) -> None:
    retry(root)
    assert_same(root, undisturbed)
    assert set(added(root, failed)) == {name for name in lines(failed) if "/alignf/" in name}


def test_retry_works_after_the_arrays_were_cleaned(root: Path, undisturbed: Path) -> None:
    assert command("clean", root).exit_code == 0
    retry(root)
    assert_same(root, undisturbed)


def test_retry_works_if_damage_is_found_meanwhile(root: Path, undisturbed: Path) -> None:
    flip(root / "data.zarr/columns/targets/c/0/0", 2)
    retry(root)
    assert_same(root, undisturbed)


def test_folder_in_place_of_a_chunk_is_repaired(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    chunk = root / "combined.zarr/wave/regression/unif/c/0/0/1"
    chunk.unlink()
    (chunk / "x").mkdir(parents=True)
    with no_workers():
        repaired = command("verify", root, "--repair")
    assert repaired.exit_code == 0, repaired.output
    assert_same(root, undisturbed)
    assert set(added(root, undisturbed)) == {"combine/wave/regression/unif/0"}


def test_repair_reports_a_task_that_fails(undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    (root / "weights.zarr/wave/regression/alignf/c/0/0").unlink()
    monkeypatch.setattr(Alignf, "weights", fail_to_solve)
    with no_workers():
        repaired = command("verify", root, "--repair")
    assert repaired.exit_code == 3, repaired.output
    assert "weights/wave/regression/alignf/0-2 failed: the solver did not converge" in repaired.output


def test_repair_of_an_unfinished_change_does_not_continue_it(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    more = "methods=['unif','alignf','align','l2-krr','each-kernel']"
    with no_workers(max_batches=1), pytest.raises(CrashError):
        command("run", undisturbed.parent / CONFIG, "--set", more, "--out", root, "--accept-changes")
    before = lines(root)
    with no_workers():
        assert command("verify", root, "--repair").exit_code == 0
    assert lines(root) == before


def test_cleaning_frees_datasets_that_the_config_no_longer_has(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    config = undisturbed.parent / CONFIG
    only = write_config(tmp_path, TINY | {"dataset": TINY["dataset"][:1]})
    assert (root / "data.zarr/columns").exists()
    with no_workers():
        assert command("run", config, "--out", root).exit_code == 0
        assert command("run", only, "--out", root, "--accept-changes").exit_code == 0
    assert command("clean", root).exit_code == 0
    assert not (root / "data.zarr/columns/columns").exists()
    assert command("clean", root).output.startswith("Freed 0 B;")


def test_damage_found_by_a_worker_is_reported_to_the_driver(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    manifest = read_manifest(LocalStorage(root))
    plan = manifest.plan()
    assert plan is not None
    assert plan == make_plan(manifest.config, [dataset.info for dataset in plan.datasets])
    (root / "combined.zarr/wave/regression/unif/zarr.json").unlink()
    (fit,) = [task for task in plan.tasks if task.name == "fits/wave/regression/unif/0"]
    monkeypatch.setattr("kernel_pipeline.run.worker.get_worker", object)
    with pytest.raises(DamagedError, match=r"unif/zarr\.json does not describe an array") as caught:
        run_batch((fit,), (), (), RunStore(LocalStorage(root)), "an execution", fingerprint())
    assert caught.value.__cause__ is caught.value.__context__ is None  # which might not be picklable
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), DamagedError)
