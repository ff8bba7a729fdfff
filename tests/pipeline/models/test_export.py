"""The combined kernel of a method, compared with dense kernels, and its files."""

from pathlib import Path

import numpy as np
import pytest
import zarr
from click.testing import CliRunner

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.sweeps import SMALL, resume_here, run_here, small_config
from tests.pipeline.models.example_run import sparse_rows
from tests.pipeline.models.test_against_sweep import raw_rows


def dense_kernels(features: Floats) -> Floats:
    """Return the kernels of the dataset `wave`."""
    squares = ((features[:, None] - features[None]) ** 2).sum(axis=2)
    return np.stack([np.exp(-0.1 * squares), np.exp(-2.0 * squares), features @ features.T])


def centered_traces(kernels: Floats) -> Floats:
    return np.asarray(np.trace(kernels, axis1=1, axis2=2) - kernels.mean(axis=(1, 2)) * kernels.shape[1])


@pytest.mark.parametrize("method", ["alignf", "alignf-linear"])
def test_a_kernel_of_all_rows_has_the_weights_of_the_model(root: Path, method: str) -> None:
    run = kp.open_run(root)
    kernels = dense_kernels(raw_rows(root, "wave").to_numpy())
    found = run.combined("wave", method)
    np.testing.assert_allclose(found.weights, run.model("wave", method).weights_, rtol=0, atol=1e-10)
    expected = np.tensordot(found.weights / centered_traces(kernels), kernels, 1)
    np.testing.assert_allclose(found.matrix(), expected, rtol=0, atol=1e-12)
    assert found.rows.tolist() == list(range(60))


@pytest.mark.parametrize("method", ["alignf", "l2-krr"])
def test_a_kernel_of_a_trial_has_its_stored_weights(root: Path, method: str) -> None:
    store = RunStore(LocalStorage(root))
    weights = store.read(WEIGHTS, f"wave/regression/{method}", 2)
    trace = store.read(STATISTICS, "wave/regression/trace", 2)
    expected = np.tensordot(weights / trace, dense_kernels(raw_rows(root, "wave").to_numpy()), 1)
    found = kp.open_run(root).combined("wave", method, trial=2)
    np.testing.assert_allclose(found.matrix(), expected, rtol=0, atol=1e-12)


def test_a_kernel_of_columns_is_their_product(root: Path) -> None:
    features = sparse_rows()[0]
    centered = features - features.mean(axis=0)
    found = kp.open_run(root).combined("sparse", "alignf")
    expected = (features * (found.weights / (centered**2).sum(axis=0))) @ features.T
    np.testing.assert_allclose(found.matrix(), expected, rtol=0, atol=1e-12)


def test_the_kernel_of_a_trial_uses_the_steps_fitted_to_its_training_set(root: Path) -> None:
    """The reference for a trial with `fit_on = "train"` is computed from its Gram matrices."""
    store, run = RunStore(LocalStorage(root)), kp.open_run(root)
    weights = store.read(WEIGHTS, "clinic-train/classification/alignf", 0)
    trace = store.read(STATISTICS, "clinic-train/classification/trace", 0)
    names = run.combined("clinic-train", "alignf", trial=0).kernels
    grams = np.stack([run.gram("clinic-train", name, trial=0) for name in names])
    found = run.combined("clinic-train", "alignf", trial=0)
    np.testing.assert_allclose(found.matrix(), np.tensordot(weights / trace, grams, 1), rtol=0, atol=1e-12)


def test_files_have_the_kernel_and_the_rows(root: Path, tmp_path: Path) -> None:
    expected = kp.open_run(root).combined("wines", "alignf")
    for name in ("kernel.npy", "kernel.zarr"):
        arguments = ["export", str(root), "--dataset", "wines", "--method", "alignf", "--out", str(tmp_path / name)]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        again = CliRunner().invoke(main, arguments)
        assert again.exit_code == 2
        assert "exists; remove it, or choose another name" in again.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "kernel.npy"), expected.matrix())
    np.testing.assert_array_equal(np.load(tmp_path / "kernel.rows.npy"), expected.rows)
    group = zarr.open_group(tmp_path / "kernel.zarr", mode="r")
    np.testing.assert_array_equal(group["kernel"][...], expected.matrix())  # type: ignore[index]
    np.testing.assert_array_equal(group["rows"][...], expected.rows)  # type: ignore[index]
    assert group.attrs["method"] == "alignf"
    assert sorted(expected.rows) == sorted(RunStore(LocalStorage(root)).read(GRAM, "wines/order"))
    assert len(list(tmp_path.iterdir())) == 3


@pytest.fixture(scope="module")
def baselines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a finished run with baselines."""
    folder = tmp_path_factory.mktemp("baselines")
    values = next(dataset for dataset in SMALL["dataset"] if dataset["name"] == "flowers")
    methods = ["unif", "alignf", "each-kernel"]
    run_here(folder, small_config(baselines=True, methods=methods, protocol={"folds": 3}, dataset=[values]))
    assert resume_here(folder)[0] == 0
    return folder


@pytest.mark.parametrize("trial", [None, 0])
@pytest.mark.parametrize("method", ["linear", "mean", "majority", "each-kernel"])
def test_methods_without_weights_have_no_kernel(
    baselines: Path, tmp_path: Path, method: str, trial: int | None
) -> None:
    task = "classification" if method == "majority" else "regression"
    run = kp.open_run(baselines)
    with pytest.raises(kp.PipelineError) as expected:
        run.weights("flowers", method, task)
    with pytest.raises(kp.PipelineError) as found:
        run.combined("flowers", method, task, trial)
    assert str(found.value) == str(expected.value)
    reason = "there is no method" if method == "each-kernel" else "has no kernel weights. Methods of this dataset with"
    assert reason in str(found.value)
    chosen = [] if trial is None else ["--trial", str(trial)]
    arguments = ["export", str(baselines), "--dataset", "flowers", "--task", task, "--method", method, *chosen]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "kernel.npy")])
    assert result.exit_code == 2
    assert result.stderr == f"Error: {expected.value}\n"
    assert not list(tmp_path.iterdir())


def test_the_best_single_kernel_has_the_weights_of_a_trial(root: Path) -> None:
    run = kp.open_run(root)
    with pytest.raises(kp.PipelineError, match="choose those of a trial with --trial N"):
        run.combined("wave", "best-single")
    weights = RunStore(LocalStorage(root)).read(WEIGHTS, "wave/regression/best-single", 1)
    np.testing.assert_array_equal(run.combined("wave", "best-single", trial=1).weights, weights)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "alignf", "--out", "kernel.csv"), "must end in .npy or .zarr"),
        (("--method", "l2-krr", "--out", "kernel.npy"), "choose those of a trial with --trial"),
    ],
)
def test_wrong_exports_write_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["export", str(root), "--dataset", "wave", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not list(tmp_path.iterdir())
