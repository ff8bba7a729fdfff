"""Datasets that are too large for the workers or the disk are left out on request."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from tests.helpers.build import GAUSSIAN, put_config, synthetic_values

LARGE = {"name": "large", "source": "sklearn", "id": "breast_cancer", "task": "classification", "kernels": [GAUSSIAN]}
SWEEP: dict[str, Any] = synthetic_values() | {"methods": ["unif", "l1-svm"]}
SWEEP["dataset"].append(LARGE | {"rows": 100})
SWEEP["fit"] = {key: {"from": 0, "to": 4, "step": 4} for key in ("krr", "svm", "l1-svm")}


# Ridge paths of 80 training samples need 65 KiB in one piece, so those of the second dataset are solved in parts.
IN_PARTS: dict[str, Any] = synthetic_values() | {"fit": {"memory": "60 KiB"}}
IN_PARTS["dataset"].append(IN_PARTS["dataset"][0] | {"name": "large", "rows": 240})


def run(folder: Path, *options: str, sweep: dict[str, Any] = SWEEP) -> Result:
    config = put_config(folder, sweep)
    arguments = ["run", str(config), "--out", str(folder / "there"), "--cluster", "threads", *options]
    return CliRunner().invoke(main, arguments)


def test_the_other_datasets_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = (max(dataset.memory.values()) for dataset in kp.plan(SWEEP).datasets)
    assert small < large
    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (1, (small + large) // 2))
    refused = run(tmp_path)
    assert refused.exit_code == 2
    assert "dataset 'large': a task of stage" in refused.output
    assert "--skip-too-large" in refused.output
    assert not (tmp_path / "there").exists()

    done = run(tmp_path, "--skip-too-large")
    assert done.exit_code == 0, done.output
    assert "note: dataset 'large': a task of stage" in done.output
    found = kp.open_run(tmp_path / "there")
    assert set(found.rows["dataset"]) == {"made"}
    assert [method.method_id for method in found.config.methods] == ["unif"]  # l1-svm is for classification

    monkeypatch.setattr("kernel_pipeline.run.options.worker_limits", lambda profile: (1, 2 * large))
    again = run(tmp_path, "--skip-too-large")  # the run keeps its datasets
    assert again.exit_code == 0, again.output
    assert "dataset 'large' is not part of the run" in again.output
    added = run(tmp_path, "--accept-changes")
    assert added.exit_code == 0, added.output
    assert set(kp.open_run(tmp_path / "there").rows["dataset"]) == {"made", "large"}


def test_a_run_is_refused_if_all_datasets_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: 900)
    done = run(tmp_path, "--skip-too-large")
    assert done.exit_code == 2
    for word in ("dataset 'made': its arrays need", "dataset 'large': its arrays need", "No dataset is left"):
        assert word in done.output
    assert not (tmp_path / "there").exists()


def test_datasets_are_kept_as_long_as_their_arrays_fit_on_the_disk_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = sum(dataset.disk_bytes for dataset in kp.plan(SWEEP).datasets)
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: needed - 1)
    done = run(tmp_path, "--skip-too-large")
    assert done.exit_code == 0, done.output
    assert "note: dataset 'large': its arrays need" in done.output
    assert set(kp.open_run(tmp_path / "there").rows["dataset"]) == {"made"}


def test_datasets_whose_temporary_files_are_too_large_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.run.options.shutil.disk_usage", lambda folder: SimpleNamespace(free=10_000))
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: 1 << 30)
    options = ("--workers", "1")
    refused = run(tmp_path, *options, sweep=IN_PARTS)
    assert refused.exit_code == 2
    for word in ("dataset 'large': the fits that are solved in parts need temporary files", "--skip-too-large"):
        assert word in refused.output
    done = run(tmp_path, *options, "--skip-too-large", sweep=IN_PARTS)
    assert done.exit_code == 0, done.output
    assert "note: dataset 'large': the fits that are solved in parts" in done.output
    assert set(kp.open_run(tmp_path / "there").rows["dataset"]) == {"made"}
