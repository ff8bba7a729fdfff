"""Sweeps with several repeats, against whole matrices and against sweeps of single assignments."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

import kernel_pipeline as kp
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import parsed
from tests.helpers.plain import Trial, gaussian_trial, rank_one_trial, trial_of
from tests.helpers.sweeps import resume_here, run_here, write_results

FOLDS, REPEATS = 3, 3
GAMMAS = [2.0**e for e in (-4, -3, -2)]
GAUSSIAN = {"family": "gaussian", "log2_gamma": [-4, -2]}
KRR = [2.0**e for e in (-12, -6, 0)]
SVM = [2.0**e for e in (0, 4, 8)]
BOTH = ["regression", "classification"]


def dataset(name: str, task: Any, kernels: dict[str, Any], **keys: Any) -> dict[str, Any]:
    common = {"source": "file", "format": "csv", "path": "all.csv", "target": "label"}
    return {"name": name, "task": task, **common, "kernels": [kernels], **keys}


def sweep(mode: str = "keep") -> dict[str, Any]:
    return {
        "name": "repeated",
        "seed": 2,
        "baselines": False,
        "methods": ["unif", "align", "alignf", "alignf-linear", "l2-krr", "each-kernel", "best-single"],
        "protocol": {"folds": FOLDS, "repeats": REPEATS},
        "fit": {
            "krr": {"from": -12, "to": 0, "step": 6},
            "svm": {"from": 0, "to": 8, "step": 4},
            "l2-krr": {"from": 4, "to": 8, "step": 4},
        },
        "storage": {"tile": 25, "gram": mode},
        "dataset": [
            dataset("plain", BOTH, GAUSSIAN, drop=["patient", "part", "kind"]),
            dataset("groups", "regression", GAUSSIAN, test="part", groups="patient", drop=["kind"]),
            dataset("columns", BOTH, {"family": "rank-one"}, drop=["patient", "part", "kind"]),
            dataset(
                *("fitted", "regression", {"family": "gaussian", "gamma": [0.25]}),
                drop=["patient", "part", "kind"],
                scale="standard",
                fit_on="train",
            ),
            dataset("classes", "classification", GAUSSIAN, drop=["patient", "part", "label"]) | {"target": "kind"},
        ],
    }


Run = tuple[Path, Plan, dict[str, PreparedDataset], pd.DataFrame]


def write_data(folder: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(62, 4)), columns=["u", "v", "w", "x"])
    frame["patient"] = [f"p{int(number**0.7)}" for number in range(62)]  # of different sizes
    total = frame["u"] + frame["v"] ** 2 + 0.3 * rng.normal(size=62)
    frame["label"] = np.where(total > 0.8, 1, -1)
    frame["kind"] = pd.cut(total, [-9, 0.3, 1.2, 9], labels=["low", "mid", "high"])
    frame["part"] = np.where(frame["patient"].isin(["p3", "p7", "p11"]), "test", "train")
    frame.to_csv(folder / "all.csv", index=False, float_format="%.17g")


def run_sweep(root: Path, mode: str) -> Run:
    write_data(root)
    plan, samples, finished = run_here(root, parsed(sweep(mode)))
    return root, plan, {loaded.name: loaded for loaded in samples}, write_results(root, plan, finished)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_sweep(tmp_path_factory.mktemp("keep"), "keep")


def plain(samples: PreparedDataset, task: str, number: int) -> Trial:
    """Return a trial from whole matrices, given its number among those of all repeats."""
    assert samples.fold_by_repeat is not None
    repeat, trial = divmod(number, FOLDS)
    of_repeat = replace(samples, fold=samples.fold_by_repeat[repeat])
    if samples.name == "columns":
        return rank_one_trial(of_repeat, task, trial, FOLDS)
    if samples.name != "fitted":
        return gaussian_trial(of_repeat, GAMMAS, task, trial, FOLDS, fixed_test=samples.name == "groups")
    train = ~np.isin(of_repeat.fold, [trial, (trial + 1) % FOLDS])
    features = np.asarray(samples.features)
    scaled = StandardScaler().fit(features[train]).transform(features)
    return trial_of(of_repeat, rbf_kernel(scaled, gamma=0.25)[None], task, trial, FOLDS)


def test_statistics_of_every_repeat_are_those_of_dense_matrices(done: Run) -> None:
    root, plan, samples, _ = done
    store = RunStore(LocalStorage(root))
    for planned in plan.datasets:
        for task in planned.problems:
            group = f"{planned.name}/{task}"
            for number in range(FOLDS * REPEATS):
                trial = plain(samples[planned.name], task, number)
                np.testing.assert_allclose(store.read(STATISTICS, f"{group}/a")[number], trial.a, atol=1e-12)
                aligned = store.read(STATISTICS, f"{group}/alignment_test")[number]
                np.testing.assert_allclose(aligned, trial.test_alignments(), atol=1e-12)
                if not planned.rank_one:
                    products = store.read(STATISTICS, f"{group}/M")[number]
                    np.testing.assert_allclose(products, trial.products, atol=1e-12)


@pytest.mark.parametrize("method", ["unif", "align", "alignf"])
def test_errors_and_alignments_are_those_of_dense_fits(method: str, done: Run) -> None:
    root, plan, samples, rows = done
    store = RunStore(LocalStorage(root))
    assert set(rows.status) == {"ok"}
    for planned in plan.datasets:
        for task in planned.problems:
            weights = store.read(WEIGHTS, f"{planned.name}/{task}/{method}")
            chosen = rows[(rows.dataset == planned.name) & (rows.task == task) & (rows.method == method)]
            assert chosen.repeat.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
            assert chosen.trial.tolist() == [0, 1, 2] * REPEATS
            for number, row in enumerate(chosen.to_dict("records")):
                trial, mu = plain(samples[planned.name], task, number), weights[number]
                values = KRR if task == "regression" else SVM
                errors = trial.path(mu, values)[values.index(row["regularisation"])]
                assert row["error"] == pytest.approx(errors.test, abs=1e-9)
                assert row["validation_error"] == pytest.approx(errors.validation, abs=1e-9)
                assert row["alignment_test"] == pytest.approx(trial.alignment(mu, "test"), abs=1e-9)
                assert row["alignment_train"] == pytest.approx(trial.alignment(mu, "train"), abs=1e-9)


def test_tables_average_over_repeats_and_trials(done: Run) -> None:
    root, _, _, rows = done
    summary = pd.read_csv(root / "results" / "summary.csv")
    groups = rows.groupby(["dataset", "task", "method"], sort=False)["error"]
    np.testing.assert_allclose(summary["error_mean"], groups.mean(), rtol=1e-12)
    np.testing.assert_allclose(summary["error_sd"], groups.std(ddof=1), rtol=1e-12)
    assert set(summary["trials"]) == {FOLDS * REPEATS}
    comparison = pd.read_csv(root / "results" / "comparison.csv")
    assert set(comparison.paired_trials) == {FOLDS * REPEATS}
    assert comparison[comparison.dataset == "groups"].p_corrected.isna().all()  # one test set for all trials
    assert comparison[comparison.dataset == "plain"].p_corrected.notna().any()


def test_predictions_weights_and_kernels_have_their_repeat(done: Run) -> None:
    root, _, samples, rows = done
    predictions = pd.read_parquet(root / "results" / "predictions.parquet")
    keys = ["dataset", "task", "method", "repeat", "trial"]
    part = predictions[(predictions.task == "regression") & (predictions.role == "test")]
    squares = (part.true - part.prediction) ** 2
    errors = squares.groupby([part[key] for key in keys], sort=False).mean() ** 0.5
    np.testing.assert_allclose(errors, rows.loc[rows.task == "regression", "error"], rtol=1e-9)
    loaded = samples["plain"]
    assert loaded.fold_by_repeat is not None
    plain_part = part[part.dataset == "plain"]
    for repeat, trial in np.ndindex(REPEATS, FOLDS):
        tested = plain_part[(plain_part.repeat == repeat) & (plain_part.trial == trial)]
        assert set(tested["row"]) == set(loaded.order[loaded.fold_by_repeat[repeat] == trial])
    for name in ("weights", "kernels", "path", "bounds"):
        table = pd.read_csv(root / "results" / f"{name}.csv")
        assert table.groupby(["repeat", "trial"]).ngroups == FOLDS * REPEATS, name


def test_one_pass_over_the_tiles_serves_all_repeats_unless_steps_are_fitted(done: Run) -> None:
    root, plan, samples, _ = done
    passes = {planned.name: len(planned.of(TilesTask)) for planned in plan.datasets}
    assert passes == {"plain": 1, "groups": 1, "columns": 0, "fitted": FOLDS * REPEATS, "classes": 1}
    notes = [note.note for note in plan.notes() if note.dataset == "fitted"]
    assert any(f"{FOLDS * REPEATS} passes over the Gram matrices instead of 1" in note for note in notes)
    for planned in plan.datasets:
        for array in planned.arrays:
            chunks = (path for path in (root / array.key / "c").rglob("*") if path.is_file())
            assert array.stored_bytes >= sum(path.stat().st_size for path in chunks), array.key
    stored = RunStore(LocalStorage(root)).read(GRAM, "plain/folds")
    np.testing.assert_array_equal(stored, samples["plain"].fold_by_repeat)


def test_tables_without_stored_gram_matrices_have_the_same_bytes(done: Run, tmp_path: Path) -> None:
    other = run_sweep(tmp_path, "recompute")[0]
    for name in ("rows", "summary", "comparison", "weights", "kernels", "path", "bounds"):
        assert (other / "results" / f"{name}.csv").read_bytes() == (done[0] / "results" / f"{name}.csv").read_bytes()


def test_a_repeat_has_the_results_of_a_sweep_with_its_folds(done: Run, tmp_path: Path) -> None:
    _, _, samples, rows = done
    loaded = samples["plain"]
    assert loaded.fold_by_repeat is not None
    frame = pd.read_csv(done[0] / "all.csv")
    frame["fold"] = loaded.fold_by_repeat[1][np.argsort(loaded.order)]
    frame.to_csv(tmp_path / "all.csv", index=False, float_format="%.17g")
    values = sweep()
    given = values["dataset"][0] | {"folds": "fold"}
    single = parsed(values | {"protocol": {"folds": FOLDS}, "dataset": [given]})
    plan, _, finished = run_here(tmp_path, single)
    found = TableContext(plan, finished, RunStore(LocalStorage(tmp_path))).required_table("rows")
    expected = rows[(rows.dataset == "plain") & (rows.repeat == 1)]
    for column in ("error", "alignment_test", "debiased_alignment_test", "alignment_train", "regularisation"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-7, err_msg=column)


def test_results_of_a_run_by_repeat_and_trial(done: Run) -> None:
    root, _, samples, _ = done
    assert resume_here(root)[0] == 0
    run = kp.open_run(root)
    every, second = run.weights("plain", "alignf", "regression"), run.weights("plain", "alignf", "regression", repeat=1)
    assert list(every)[1] == "repeat_0_trial_0"
    assert list(second) == ["kernel", "trial_0", "trial_1", "trial_2"]
    np.testing.assert_array_equal(every["repeat_1_trial_2"], second["trial_2"])
    trial = plain(samples["plain"], "regression", 5)
    statistics = run.statistics("plain", trial=2, repeat=1, task="regression")
    assert statistics.M is not None
    np.testing.assert_allclose(statistics.M, trial.products, atol=1e-12)
    gram = run.gram("fitted", "gaussian(0.25)", trial=2, repeat=1)
    order = np.argsort(samples["fitted"].order)
    raw = plain(samples["fitted"], "regression", 5)
    np.testing.assert_allclose(gram[np.ix_(*[samples["fitted"].order[raw.train]] * 2)], raw.raw[0], atol=1e-12)
    assert len(order) == len(gram)
    with pytest.raises(PipelineError, match="repeat 3 does not exist; the run has 3 repeats, numbered from 0"):
        run.weights("plain", "alignf", "regression", repeat=3)
