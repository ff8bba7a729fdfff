"""Undefined values are empty in the tables, and notes point out suspicious results."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.notes import result_notes
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.summary import latex, markdown, summarise
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.sweeps import run_here, write_results

Done = tuple[Path, Plan, dict[str, TaskReport]]


def run(root: Path, features: Any, target: Any, kernels: list[Any], **changes: Any) -> Done:
    """Run a sweep of one dataset, and write its tables."""
    np.savez(root / "data.npz", features=features, target=target)
    task, scale = changes.pop("task", "regression"), changes.pop("scale", "none")
    dataset = {"name": "data", "task": task, "source": "file", "path": "data.npz", "format": "npz", "kernels": kernels}
    values = {
        "name": "undefined",
        "baselines": False,
        "methods": ["unif", "alignf"],
        "fit": {"krr": {"from": -8, "to": 0, "step": 4}, "svm": {"from": 0, "to": 8, "step": 4}},
        "dataset": [dataset | {"scale": scale}],
    }
    plan, _, finished = run_here(root, parse_config(values | changes, "a test"))
    write_results(root, plan, finished)
    return root, plan, finished


def notes_of(done: Done) -> list[str]:
    _, plan, finished = done
    return lines(result_notes(plan, finished))


GAUSSIAN = {"family": "gaussian", "log2_gamma": [-3, -1]}


@pytest.mark.parametrize("kernels", [[GAUSSIAN], [{"family": "rank-one"}]])
def test_alignment_on_a_fold_of_one_sample_is_empty_and_not_averaged(tmp_path: Path, kernels: list[Any]) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(9, 2))
    root, _, _ = run(tmp_path, features, features[:, 0] + rng.normal(size=9), kernels, protocol={"folds": 5})
    rows = pd.read_csv(root / "results/rows.csv")
    single = rows["trial"] == 4  # 9 samples in 5 folds
    assert rows["alignment_test"].isna().equals(single)
    assert (
        rows["alignment_test"][~single] > 0.5
    ).all()  # the kernels of two samples are proportional to that of their labels
    kernels_table = pd.read_csv(root / "results/kernels.csv")
    assert (kernels_table["alignment_test"].isna() == (kernels_table["trial"] == 4)).all()
    summary = pd.read_csv(root / "results/summary.csv")
    assert (summary["alignment_test_mean"] > 0.5).all()


def test_alignment_on_a_fold_of_one_class_is_empty(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    target = np.where(np.arange(40) < 3, "rare", "usual")
    root, _, _ = run(tmp_path, rng.normal(size=(40, 2)), target, [GAUSSIAN], task="classification")
    rows = read_rows(LocalStorage(root))
    empty = rows.groupby("trial")["alignment_test"].apply(lambda values: bool(values.isna().all()))
    assert empty.sum() == 2  # three samples of the rare class in five folds
    assert rows["alignment_test"].isna().sum() == 2 * 2


def test_a_constant_kernel_has_neither_alignment_nor_error_and_a_status_with_the_reason(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    kernels = [{"family": "gaussian", "log2_gamma": [-1000, -1000]}, GAUSSIAN]
    methods = ["unif", "each-kernel"]
    root, _, _ = run(tmp_path, rng.normal(size=(30, 2)), rng.normal(size=30), kernels, methods=methods)
    table = pd.read_csv(root / "results/kernels.csv").set_index("kernel")
    constant, others = table.loc["gaussian(2^-1000)"], table.drop(index="gaussian(2^-1000)")
    for column in ("alignment_train", "alignment_test", "theorem12_evaluated", "error"):
        assert constant[column].isna().all(), column
        assert others[column].notna().all(), column
    assert (constant["status"] == "failed: the kernel is constant on the training set").all()
    assert (others["status"] == "ok").all()


def test_a_missing_chunk_is_not_read_as_undefined_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    run(tmp_path, rng.normal(size=(30, 2)), rng.normal(size=30), [GAUSSIAN])
    store = RunStore(LocalStorage(tmp_path))
    assert not np.isnan(store.read(STATISTICS, "data/regression/alignment_test", allow_nan=True)).any()
    (tmp_path / "statistics.zarr/data/regression/alignment_test/c/2/0").unlink()
    for selection in (..., 2):
        with pytest.raises(DamagedError, match="lacks values"):
            store.read(STATISTICS, "data/regression/alignment_test", selection, allow_nan=True)
    store.read(STATISTICS, "data/regression/alignment_test", 1, allow_nan=True)


def test_a_failed_solve_has_no_certificate_no_weights_and_no_kernels(tmp_path: Path) -> None:
    # Each sample occurs twice, once with each label, so that no kernel is correlated with the labels.
    features = np.repeat(np.random.default_rng(0).normal(size=(12, 2)), 2, axis=0)
    labels = np.tile([-1.0, 1.0], 12)
    with pytest.MonkeyPatch.context() as patch:
        # Keep the pairs together, so that each training set contains both samples of a pair.
        patch.setattr("kernel_pipeline.data.prepared.sample_rows", lambda table, *_: np.arange(len(table.target)))
        patch.setattr(
            "kernel_pipeline.data.fold_assignment.stratified_folds",
            lambda target, _: (np.arange(len(target)), np.repeat([0, 1, 2], 8)),
        )
        methods = ["align", "alignf", "unif"]
        root, _, _ = run(tmp_path, features, labels, [GAUSSIAN], methods=methods, protocol={"folds": 3})
    rows = pd.read_csv(root / "results/rows.csv").set_index("method")
    failed = rows.loc[["align", "alignf"]]
    assert failed["status"].str.startswith("failed: no kernel varies").all()
    for column in ("certificate", "n_active", "error", "at_edge", "alignment_train"):
        assert failed[column].isna().all(), column
    assert (rows["status"][rows.index == "unif"] == "ok").all()
    store = RunStore(LocalStorage(root))
    for name in ("alignf", "certificate/alignf"):
        assert np.isnan(store.read(WEIGHTS, f"data/regression/{name}", allow_nan=True)).all()


def test_one_trial_has_no_standard_deviation() -> None:
    rows = pd.DataFrame(
        {
            "dataset": "data",
            "task": "regression",
            "metric": "rmse",
            "method": ["unif", "unif"],
            "error": [0.5, 0.7],
            "alignment_test": [np.nan, np.nan],
            "alignment_train": [0.1, 0.2],
            "status": ["ok", "failed: why"],
        }
    )
    summary = summarise(rows)
    assert "| unif | 0.500<br>- |" in markdown(summary).decode()
    assert "nan" not in latex(summary).decode()
    assert summary["error_sd"].isna().all()
    assert summary["error_mean"].tolist() == [0.5]


def test_a_regularisation_value_at_the_edge_is_flagged_and_noted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 2))
    fit = {"krr": {"from": 6, "to": 14, "step": 4}}  # all values are too large
    done = run(tmp_path, features, features[:, 0], [GAUSSIAN], fit=fit)
    rows = read_rows(LocalStorage(done[0]))
    assert (rows["regularisation"] == 2.0**6).all()
    assert rows["at_edge"].all()
    note = "the regularisation value is at the edge of its grid in 5 of 5 trials (64); lower fit.krr.from (now 6)"
    assert [f"note: {method} on data (regression): {note}" for method in ("unif", "alignf")] == notes_of(done)
    table = pd.read_csv(done[0] / "results/notes.csv", keep_default_na=False)
    assert table.to_dict("records") == [
        {"dataset": "data", "task": "regression", "method": method, "note": note} for method in ("unif", "alignf")
    ]


def test_a_grid_of_one_value_has_no_edge(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30, 2))
    done = run(tmp_path, features, features[:, 0], [GAUSSIAN], fit={"krr": {"from": 0, "to": 0}})
    assert not read_rows(LocalStorage(done[0]))["at_edge"].any()
    assert notes_of(done) == []


def test_kernels_that_are_the_identity_or_constant_are_noted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 3))
    kernels = [{"family": "gaussian", "log2_gamma": [low, low]} for low in (-70, -2, 30)]
    said = notes_of(run(tmp_path, features, features[:, 0], kernels))
    assert any("1 of 3 kernels are constant up to rounding" in line and "gaussian(2^-70)" in line for line in said)
    assert any("1 of 3 kernels are the identity up to rounding" in line and "gaussian(2^30)" in line for line in said)
    assert not any("gaussian(2^-2)" in line for line in said)


def test_kernels_that_are_all_constant_are_noted_with_what_to_do(tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(20, 3))
    (note,) = notes_of(run(tmp_path, features, features[:, 0], [{"family": "gaussian", "gamma": [1e-320]}]))
    assert "1 of 1 kernels are constant on a training set" in note
    assert note.endswith("; choose a larger gamma, or other kernels")


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_narrow_kernels_on_scaled_features_are_noted(scale: str, tmp_path: Path) -> None:
    """Users may try wide ranges of gamma on features of unit size."""
    features = np.random.default_rng(0).normal(size=(60, 12))
    kernels = [{"family": "gaussian", "log2_gamma": [exponent, exponent]} for exponent in (-3, 10)]
    done = run(tmp_path, features, features[:, 0], kernels, scale=scale)
    (note,) = [line for line in notes_of(done) if "the identity up to rounding" in line]
    assert "1 of 2 kernels" in note
    assert "equally similar): gaussian(2^10) (every trial); choose a smaller gamma, or other kernels" in note
    assert "gaussian(2^10)" in (done[0] / "results/notes.csv").read_text()


@pytest.mark.parametrize(
    ("family", "fix"),
    [
        ({"family": "laplacian", "gamma": 1e9}, "choose a smaller gamma, or other kernels"),
        ({"family": "matern", "length_scale": 1e-9}, "choose a larger length_scale, or other kernels"),
        ({"family": "rational-quadratic", "length_scale": 1e-9}, "choose a larger length_scale, or other kernels"),
        ({"family": "matern", "length_scale": 1e-9, "name": "a"}, "choose a larger length_scale, or other kernels"),
        ({"family": "precomputed", "path": "identity.npy"}, "choose other kernels"),
    ],
    ids=lambda value: value["family"] if isinstance(value, dict) else "",
)
def test_the_note_about_the_identity_names_a_parameter_of_the_family(
    family: dict[str, Any], fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("identity.npy", np.eye(40))
    features = np.random.default_rng(0).normal(size=(40, 3))
    (note,) = [line for line in notes_of(run(tmp_path, features, features[:, 0], [GAUSSIAN, family])) if "iden" in line]
    assert "(all pairs of samples are equally similar): " in note
    assert note.endswith(f"(every trial); {fix}")


@pytest.mark.parametrize("family", [{"family": "linear"}, {"family": "rank-one"}])
def test_constant_kernels_without_a_parameter_are_noted_with_what_to_do(family: dict[str, Any], tmp_path: Path) -> None:
    # The column varies in one sample only, which is in the training sets of some trials.
    done = run(tmp_path, np.eye(15)[:, :1], np.arange(15.0), [family], protocol={"folds": 5})
    (note,) = [line for line in notes_of(done) if "constant" in line]
    assert "1 of 1 kernels are constant on a training set" in note
    assert note.endswith("; choose other kernels")


def test_kernels_that_are_constant_are_counted_per_trial(tmp_path: Path) -> None:
    # Each column varies in one sample only, so that each is constant on some of the training sets.
    done = run(tmp_path, np.eye(15), np.arange(15.0), [{"family": "rank-one"}], protocol={"folds": 5})
    (note,) = [line for line in notes_of(done) if "constant" in line]
    assert note.startswith("note: dataset 'data': up to 6 of 15 kernels are constant on a training set")
    assert note.endswith(" and 10 more")


def test_it_is_noted_if_every_method_only_predicts_the_majority_class(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    target = np.where(np.arange(60) % 5 == 0, "rare", "usual")
    grid = {"fit": {"svm": {"from": -8, "to": -6, "step": 1}}}
    done = run(tmp_path, rng.normal(size=(60, 2)), target, [GAUSSIAN], task="classification", **grid)
    assert (read_rows(LocalStorage(done[0]))["error"] <= 0.25).all()  # 12 of 60 samples, divided into 5 folds
    assert (
        "note: dataset 'data' (classification): every method predicts the majority class of the training set for all "
        "test samples, in every trial; each error is the share of the other class"
    ) in notes_of(done)


def test_a_method_that_only_predicts_the_majority_class_is_noted_instead_of_the_edge(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 2))
    target = np.where(features[:, 0] > 0.7, "rare", "usual")
    changes = {"methods": ["unif", "l1-svm"], "fit": {"svm": {"from": -9, "to": -8}, "l1-svm": {"from": 4, "to": 6}}}
    done = run(tmp_path, features, target, [GAUSSIAN], task="classification", **changes)
    said = notes_of(done)
    assert (
        "note: unif on data (classification): the method predicts the majority class of the training set for all test "
        "samples, in every trial; each error is the share of the other class"
    ) in said
    assert not any("every method" in line for line in said)
    assert not any("note: unif" in line and "edge" in line for line in said)
    (edge,) = [line for line in said if "edge" in line]
    assert edge.startswith("note: l1-svm on data")
    assert "lower fit.l1-svm.from (now 4)" in edge or "raise fit.l1-svm.to (now 6)" in edge


def test_it_is_noted_if_every_method_only_predicts_the_majority_of_several_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    target = np.array(["usual", "usual", "b", "usual", "usual", "a"])[np.arange(60) % 6]
    grid = {"fit": {"svm": {"from": -8, "to": -6, "step": 1}}}
    done = run(tmp_path, rng.normal(size=(60, 2)), target, [GAUSSIAN], task="classification", **grid)
    assert read_rows(LocalStorage(done[0]))["error"].to_numpy() == pytest.approx(1 / 3)  # 4 of 12 samples in each fold
    assert (
        "note: dataset 'data' (classification): every method predicts the majority class of the training set for all "
        "test samples, in every trial; each error is the share of the other classes"
    ) in notes_of(done)
