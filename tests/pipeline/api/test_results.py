"""The results of a run as Python objects, compared with the files of the run and dense references."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.maintenance import clean_run
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import SMALL, flip, plan_in, resume_here, run_here, small_config, smaller_config

ASSETS = Path(__file__).parents[2] / "assets"


def gaussian(features: np.ndarray, exponent: int) -> np.ndarray:
    distances = ((features[:, None] - features[None]) ** 2).sum(axis=-1)
    return np.asarray(np.exp(-(2.0**exponent) * distances))


def source_features(root: Path, dataset: str) -> np.ndarray:
    """Return the stored features in the order of the source rows."""
    import zarr

    features = zarr.open_array(root / f"data.zarr/{dataset}/features", mode="r")[...]
    order = zarr.open_array(root / f"gram.zarr/{dataset}/order", mode="r")[...]
    return np.asarray(features)[np.argsort(np.asarray(order))]


def test_rows_and_summary_equal_the_tables(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    rows = pd.read_csv(finished[0] / "results/rows.csv")
    assert list(run.rows["error"]) == list(rows["error"])
    assert list(run.summary["error_mean"]) == list(pd.read_csv(finished[0] / "results/summary.csv")["error_mean"])
    assert run.is_complete
    assert run.config.name == "small"
    assert repr(run) == f"<RunResults of 'small' in {finished[0]}>"


def test_results_can_be_read_after_the_current_folder_has_changed(
    finished: tuple[Path, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished[0].parent)
    run = kp.open_run(finished[0].name)
    monkeypatch.chdir(tmp_path)
    assert run.directory == str(finished[0])
    assert len(run.rows)
    assert np.isfinite(run.gram("wave", "gaussian(2^0)")).all()


def test_weights_have_a_row_per_kernel_and_a_column_per_trial(finished: tuple[Path, Plan]) -> None:
    weights = kp.open_run(finished[0]).weights("wave", "unif")
    assert list(weights) == ["kernel", "trial_0", "trial_1", "trial_2"]
    assert list(weights["kernel"]) == [f"gaussian(2^{exponent})" for exponent in (-6, -5, -4, 0, 1)]
    np.testing.assert_allclose(weights[["trial_0", "trial_1", "trial_2"]], 0.2)


def test_features_are_the_names_of_the_columns(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    assert run.features("wave") == tuple(map(str, range(10)))
    assert run.features("flowers") == ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)")
    with pytest.raises(kp.PipelineError, match="there is no dataset 'waves'"):
        run.features("waves")


def test_weights_are_optimal_for_the_statistics(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    found = run.statistics("wave", trial=1)
    weights = run.weights("wave", "alignf")["trial_1"].to_numpy()
    assert found.M is not None
    assert list(found.M.index) == list(found.M.columns) == list(found.a.index) == list(found.trace.index)
    M, a = found.M.to_numpy(), found.a.to_numpy()
    slope = M @ weights / (weights @ M @ weights) - a / (weights @ a)
    assert np.abs(slope[weights > 1e-6]).max() < 1e-6 * np.abs(M).max()


def test_labels_of_classes_are_returned_with_the_negative_class_first(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    assert run.classes("flowers") == (("setosa", "versicolor"), ("virginica",))
    assert run.classes("wave") == ()
    with pytest.raises(kp.PipelineError, match="no dataset 'waves'"):
        run.outputs("waves")


@pytest.mark.parametrize("missing", ["", "gram.zarr/wave/gram/c", "cleaned"])
def test_a_kernel_is_read_or_computed_in_the_order_of_the_source(root: Path, missing: str) -> None:
    features = source_features(root, "wave")
    if missing == "cleaned":
        clean_run(LocalStorage(root))
        assert not (root / "data.zarr/wave/features").exists()
    elif missing:
        shutil.rmtree(root / missing)
    run = kp.open_run(root)
    found = run.gram("wave", "gaussian(2^-4)")
    np.testing.assert_allclose(found, gaussian(features, -4), rtol=1e-12)
    assert len(run.source_rows("wave")) == len(found) == 50
    assert (np.diff(run.source_rows("wave")) > 0).all()


def test_a_kernel_that_is_computed_again_has_the_same_bytes(root: Path) -> None:
    stored = kp.open_run(root).gram("flowers", "gaussian(2^-3)")
    clean_run(LocalStorage(root))
    assert kp.open_run(root).gram("flowers", "gaussian(2^-3)").tobytes() == stored.tobytes()


def test_a_damaged_tile_is_computed_again(root: Path) -> None:
    stored = kp.open_run(root).gram("wave", "gaussian(2^0)")
    flip(root / "gram.zarr/wave/gram/c/0/0/1")
    np.testing.assert_array_equal(kp.open_run(root).gram("wave", "gaussian(2^0)"), stored)


def test_source_data_that_have_changed_are_rejected(tmp_path: Path) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "y"])
    table.to_csv(tmp_path / "things.csv", index=False)
    dataset = {
        "name": "things",
        "source": "file",
        "path": "things.csv",
        "format": "csv",
        "target": "y",
        "task": "regression",
        "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}],
    }
    config = {"name": "own", "baselines": False, "methods": ["unif"], "protocol": {"folds": 3}, "dataset": [dataset]}
    run = kp.run(config, cluster="threads", workers=1, out=tmp_path / "run", data_dir=tmp_path)
    stored = run.gram("things", "gaussian(2^-3)")
    clean_run(LocalStorage(tmp_path / "run"))
    np.testing.assert_array_equal(kp.open_run(tmp_path / "run").gram("things", "gaussian(2^-3)"), stored)
    (tmp_path / "things.csv").rename(tmp_path / "moved.csv")
    with pytest.raises(kp.DataError, match=r"neither the kernels of .* nor its features .*: dataset 'things'"):
        kp.open_run(tmp_path / "run").gram("things", "gaussian(2^-3)")
    table.assign(a=0.5 * table["a"]).to_csv(tmp_path / "things.csv", index=False)
    with pytest.raises(kp.DataError, match="the data of 'things' have changed"):
        kp.open_run(tmp_path / "run").gram("things", "gaussian(2^-3)")


def test_a_dataset_with_two_tasks_requires_a_task(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    with pytest.raises(
        kp.PipelineError, match=r"'flowers' has 2 tasks; choose one with task='regression' or task='classification'"
    ):
        run.weights("flowers", "alignf")
    both = [run.weights("flowers", "alignf", task=task) for task in ("regression", "classification")]
    assert [list(weights) for weights in both] == [["kernel", "trial_0", "trial_1", "trial_2"]] * 2
    assert run.statistics("flowers", trial=0, task="classification").a.notna().all()


def test_unknown_names_are_rejected_with_the_available_ones(finished: tuple[Path, Plan]) -> None:
    run = kp.open_run(finished[0])
    with pytest.raises(kp.PipelineError, match=r"no dataset 'waves'\. Available: 'wave', 'flowers'\. Did you mean"):
        run.weights("waves", "alignf")
    with pytest.raises(kp.PipelineError, match=r"no method 'align'\. Available: 'unif', 'alignf'"):
        run.weights("wave", "align")
    with pytest.raises(kp.PipelineError, match=r"no kernel 'gaussian'\. Available: 'gaussian\(2"):
        run.gram("wave", "gaussian")
    with pytest.raises(kp.PipelineError, match=r"no task 'ranking'\. Available: 'regression'"):
        run.weights("wave", "alignf", task="ranking")
    with pytest.raises(kp.PipelineError, match="trial 3 does not exist; there are 3 trials: 0 to 2"):
        run.statistics("wave", trial=3)


def test_a_method_that_is_left_out_for_a_task_is_refused_with_the_reason(tmp_path: Path) -> None:
    flowers = SMALL["dataset"][1] | {"rows": 50}
    config = small_config(methods=["unif", "l1-svm"], baselines=False, protocol={"folds": 3}, dataset=[flowers])
    run_here(tmp_path, config)
    assert resume_here(tmp_path)[0] == 0
    run = kp.open_run(tmp_path)
    reason = (
        "^method 'l1-svm' is left out for task='regression' of this dataset, since it supports only classification. "
        "Available: 'unif'$"
    )
    for read in (run.weights, run.model, run.combined):
        with pytest.raises(kp.PipelineError, match=reason):
            read("flowers", "l1-svm", task="regression")
    assert run.weights("flowers", "l1-svm", task="classification").shape == (5, 4)


def test_an_unfinished_run_has_no_tables_yet(tmp_path: Path) -> None:
    plan_in(tmp_path, smaller_config())
    run = kp.open_run(tmp_path)
    assert not run.is_complete
    assert repr(run).endswith(", unfinished>")
    with pytest.raises(kp.RefusedError, match=f"the run is not finished. `pipeline resume {tmp_path}` resumes the run"):
        _ = run.rows
    with pytest.raises(kp.RefusedError, match="wave/regression/M yet: the run is not finished"):
        run.statistics("wave", trial=0)
    assert run.gram("wave", "gaussian(2^-4)").shape == (50, 50)


def test_messages_about_damage_name_the_command_that_repairs_it(root: Path) -> None:
    flip(root / "weights.zarr/wave/regression/alignf/c/1/0")
    with pytest.raises(kp.RefusedError, match=f"`pipeline verify {root} --repair` computes it again"):
        kp.open_run(root).weights("wave", "alignf")
    with pytest.raises(kp.RefusedError, match=f"`pipeline verify {root} --repair` computes it again"):
        kp.open_run(root).combined("wave", "alignf", trial=1)
    (root / "results/rows.csv").write_bytes(b"")
    with pytest.raises(kp.RefusedError, match=r"rows\.csv is damaged.*--repair"):
        _ = kp.open_run(root).rows


def test_a_folder_that_is_not_a_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(kp.RefusedError, match="is not a run directory"):
        kp.open_run(tmp_path)


@pytest.mark.parametrize("method", ["linear", "mean"])
def test_a_method_without_weights_is_refused_with_a_list_of_the_others(method: str, tmp_path: Path) -> None:
    zipfile.ZipFile(ASSETS / "run.zip").extractall(tmp_path)
    with pytest.raises(kp.PipelineError) as refused:
        kp.open_run(tmp_path / "small-run").weights("wave", method)
    expected = f"'{method}' has no kernel weights. Methods of this dataset with weights: unif, alignf, best-single"
    assert str(refused.value) == expected


@pytest.mark.parametrize("name", ["run-format-4.zip", "run-format-3.zip", "run-format-2.zip"])
def test_a_run_of_an_earlier_version_still_opens(name: str, tmp_path: Path) -> None:
    zipfile.ZipFile(ASSETS / name).extractall(tmp_path)
    root = tmp_path / "small-run"
    run = kp.open_run(root)
    assert len(run.rows) == 12
    assert set(run.rows["status"]) == {"ok"}
    assert run.weights("wave", "alignf").shape == (2, 4)
    assert run.statistics("columns", trial=0).M is None
    assert run.classes("wave") == ()
    assert run.outputs("wave") == ()
    gram = run.gram("wave", "gaussian(2^-3)")
    np.testing.assert_allclose(gram, gaussian(source_features(root, "wave"), -3), rtol=1e-9)
    column = run.gram("columns", run.weights("columns", "unif")["kernel"][0])
    assert np.linalg.matrix_rank(column) == 1
    assert run.features("columns") == tuple(run.weights("columns", "unif")["kernel"])
    with pytest.raises(kp.PipelineError, match="earlier version, which did not store the names of features"):
        run.features("wave")
    status = CliRunner().invoke(main, ["status", str(root)])
    assert status.exit_code == 0, status.output
    # The status reports what resuming would recompute: nothing, or tasks whose algorithm has changed since.
    first = status.output.partition("\n\n")[0]
    assert "19 of 19 tasks are done" in first or "outdated by a change of config, data or algorithm" in first
    verified = CliRunner().invoke(main, ["verify", str(root)])
    assert verified.exit_code == 0
    assert "files are intact.\n" in verified.output
