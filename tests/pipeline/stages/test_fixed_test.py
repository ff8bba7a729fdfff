"""Sweeps with a fixed test set, where each trial validates on another fold, against dense matrices."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Trial, gaussian_trial, rank_one_trial
from tests.helpers.sweeps import resume_here, run_here, write_results

FOLDS = 3
GAMMAS = [2.0**e for e in (-4, -3, -2)]
GAUSSIAN = {"family": "gaussian", "log2_gamma": [-4, -2]}
KRR = [2.0**e for e in (-12, -6, 0)]
SVM = [2.0**e for e in (0, 4, 8)]


def dataset(name: str, kernels: dict[str, Any], **keys: Any) -> dict[str, Any]:
    common = {"task": ["regression", "classification"], "source": "file", "format": "csv", "target": "label"}
    return {"name": name, **common, "kernels": [kernels], **keys}


SWEEP: dict[str, Any] = {
    "name": "fixed",
    "seed": 2,
    "baselines": False,
    "methods": ["unif", "align", "alignf", "l2-krr", "l1-svm", "each-kernel"],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -12, "to": 0, "step": 6}, "svm": {"from": 0, "to": 8, "step": 4}},
    "storage": {"tile": 17},
    "dataset": [
        dataset("column", GAUSSIAN, path="all.csv", test="part", index="patient"),
        dataset("groups", GAUSSIAN, path="all.csv", test="part", groups="patient"),
        dataset("file", {"family": "rank-one"}, path="train.csv", test_path="test.csv", drop=["patient"]),
    ],
}
Run = tuple[Path, Plan, dict[str, PreparedDataset], pd.DataFrame]


def write_data(folder: Path) -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["u", "v", "w", "x"])
    frame["patient"] = [f"p{number // 4}" for number in range(60)]
    frame["label"] = np.where(frame["u"] + frame["v"] ** 2 + 0.3 * rng.normal(size=60) > 0.8, 1, -1)
    test = np.arange(60) % 20 >= 12  # whole patients
    frame.assign(part=np.where(test, "test", "train")).to_csv(folder / "all.csv", index=False)
    frame[~test].to_csv(folder / "train.csv", index=False)
    frame[test].to_csv(folder / "test.csv", index=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("run")
    write_data(root)
    plan, samples, finished = run_here(root, parse_config(SWEEP, "a test"))
    return root, plan, {loaded.name: loaded for loaded in samples}, write_results(root, plan, finished)


def plain(samples: PreparedDataset, task: str, trial: int) -> Trial:
    if samples.name == "file":
        return rank_one_trial(samples, task, trial, FOLDS, fixed_test=True)
    return gaussian_trial(samples, GAMMAS, task, trial, FOLDS, fixed_test=True)


def test_the_test_set_is_that_of_the_config_and_the_rest_is_divided_into_folds(done: Run) -> None:
    samples = done[2]
    for name, loaded in samples.items():
        rows = loaded.order[loaded.fold == FOLDS]
        assert sorted(rows) == (list(range(36, 60)) if name == "file" else [i for i in range(60) if i % 20 >= 12])
        assert sorted(loaded.order) == list(range(60))
        assert (np.diff(loaded.fold) >= 0).all()
        assert np.bincount(loaded.fold).tolist() == [12, 12, 12, 24]
    patients = samples["groups"].order // 4
    for patient in set(patients):
        assert len(set(samples["groups"].fold[patients == patient])) == 1


def test_statistics_are_those_of_dense_matrices(done: Run) -> None:
    root, plan, samples, _ = done
    store = RunStore(LocalStorage(root))
    for planned in plan.datasets:
        for task in planned.problems:
            group = f"{planned.name}/{task}"
            for number in range(FOLDS):
                trial = plain(samples[planned.name], task, number)
                assert trial.test.sum() == 24
                assert (trial.train.sum(), trial.validation.sum()) == (24, 12)
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
    for planned in plan.datasets:
        for task in planned.problems:
            weights = store.read(WEIGHTS, f"{planned.name}/{task}/{method}")
            assert weights.shape == (FOLDS, len(planned.kernels))
            chosen = rows[(rows.dataset == planned.name) & (rows.task == task) & (rows.method == method)]
            assert chosen.trial.tolist() == list(range(FOLDS))
            for number, row in enumerate(chosen.to_dict("records")):
                trial, mu = plain(samples[planned.name], task, number), weights[number]
                values = KRR if task == "regression" else SVM
                errors = trial.path(mu, values)[values.index(row["regularisation"])]
                assert row["error"] == pytest.approx(errors.test, abs=1e-9)
                assert row["validation_error"] == pytest.approx(errors.validation, abs=1e-9)
                assert row["alignment_test"] == pytest.approx(trial.alignment(mu, "test"), abs=1e-9)
                assert row["alignment_train"] == pytest.approx(trial.alignment(mu, "train"), abs=1e-9)


def test_every_cell_has_a_result(done: Run) -> None:
    rows = done[3]
    assert set(rows.status) == {"ok"}
    counted = rows.groupby(["dataset", "task", "method"]).size()
    assert set(counted) == {FOLDS}


def test_the_plan_projects_the_disk_exactly_and_the_largest_training_set(done: Run) -> None:
    root, plan, samples, _ = done
    for planned in plan.datasets:
        for array in planned.arrays:
            chunks = (path for path in (root / array.key / "c").rglob("*") if path.is_file())
            assert array.stored_bytes == sum(path.stat().st_size for path in chunks), array.key
        assert planned.info.largest_train == 24
        assert planned.info == samples[planned.name].info


def test_a_resumed_run_has_nothing_left_to_do_and_a_note_about_the_test_set(done: Run) -> None:
    root = done[0]
    code, said = resume_here(root)
    assert code == 0, said
    notes = pd.read_csv(root / "results" / "notes.csv")
    fixed = notes[notes.note.str.startswith("the test set is fixed (24 samples)")]
    assert fixed.dataset.tolist() == ["column", "groups", "file"]
