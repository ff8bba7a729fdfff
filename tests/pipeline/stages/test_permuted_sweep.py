"""Sweeps with permuted labels: levels of learned kernels against dense matrices, and notes about them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.statistics.permutations import Permutations, null_level
from tests.helpers.build import parsed
from tests.helpers.plain import Trial, aligned, gaussian_trial, rank_one_trial
from tests.helpers.sweeps import run_here, write_results

FOLDS, COUNT, SEED = 3, 19, 4
GAMMAS = [0.125, 0.25, 0.5]
GAUSSIAN = {"family": "gaussian", "log2_gamma": [-3, -1]}
NULLS = ["null_alignment_test", "null_alignment_test_95", "null_alignment_train", "null_alignment_train_95"]
Run = tuple[Path, Plan, dict[str, PreparedDataset], pd.DataFrame]


def dataset(name: str, task: Any, kernels: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {
        "name": name,
        "task": task,
        "source": "file",
        "format": "csv",
        "path": "all.csv",
        "kernels": [kernels],
        **keys,
    }


def sweep(repeats: int) -> dict[str, Any]:
    other = {"label": ["kind", "noise"], "kind": ["label", "noise"], "noise": ["label", "kind"]}
    return {
        "name": "permuted",
        "seed": SEED,
        "methods": ["unif", "alignf", "alignf-linear", "l2-krr"],
        "baselines": False,
        "protocol": {"folds": FOLDS, "repeats": repeats, "permutations": COUNT},
        "fit": {
            "krr": {"from": -6, "to": 0, "step": 6},
            "svm": {"from": 0, "to": 4, "step": 4},
            "l2-krr": {"from": 4, "to": 4},
        },
        "storage": {"tile": 20},
        "dataset": [
            dataset("plain", ["regression", "classification"], GAUSSIAN, target="label", drop=other["label"]),
            dataset("classes", "classification", GAUSSIAN, target="kind", drop=other["kind"]),
            dataset("columns", "regression", {"family": "rank-one"}, target="label", drop=other["label"]),
            dataset("noise", "regression", GAUSSIAN, target="noise", drop=other["noise"]),
        ],
    }


@pytest.fixture(scope="module", params=[1, 2])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("permuted")
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(45, 3)), columns=["u", "v", "w"])
    total = frame["u"] + frame["v"] ** 2
    frame["label"] = np.where(total > 0.7, 1, -1)
    frame["kind"] = pd.cut(total, [-9, 0.2, 1.2, 9], labels=["low", "mid", "high"])
    frame["noise"] = rng.normal(size=45)
    frame.to_csv(root / "all.csv", index=False, float_format="%.17g")
    plan, samples, finished = run_here(root, parsed(sweep(request.param)))
    return root, plan, {loaded.name: loaded for loaded in samples}, write_results(root, plan, finished)


def plain(samples: PreparedDataset, task: str, number: int) -> tuple[Trial, Any]:
    """Return a trial from whole matrices, and the permutations of its repeat."""
    repeat, trial = divmod(number, FOLDS)
    fold = samples.fold if samples.fold_by_repeat is None else samples.fold_by_repeat[repeat]
    of_repeat = replace(samples, fold=fold)
    orders = Permutations(COUNT, SEED).orders(fold, repeat)
    if samples.name == "columns":
        return rank_one_trial(of_repeat, task, trial, FOLDS), orders
    return gaussian_trial(of_repeat, GAMMAS, task, trial, FOLDS), orders


def levels(kernel: Floats, labels: Floats) -> tuple[float, float]:
    """Return mean and quantile of the alignments with each of the label vectors or blocks."""
    return null_level(np.array([aligned(kernel, block) for block in labels]))


def test_levels_are_those_of_dense_matrices(done: Run) -> None:
    root, _, samples, rows = done
    store = RunStore(LocalStorage(root))
    for row in rows.to_dict("records"):
        name, task, method = (str(row[key]) for key in ("dataset", "task", "method"))
        number = int(row["repeat"]) * FOLDS + int(row["trial"])
        trial, orders = plain(samples[name], task, number)
        mu = store.read(WEIGHTS, f"{name}/{task}/{method}")[number]
        train = np.tensordot(mu, trial.kernels, axes=1)[trial.train]
        test = np.tensordot(mu, trial.test_kernels, axes=1)
        if method == "alignf-linear" and (mu < 0).any():  # the positive parts
            for kernel in (train, test):
                values, vectors = np.linalg.eigh(kernel)
                kernel[...] = (vectors * np.maximum(values, 0.0)) @ vectors.T
        expected = [
            *levels(test, trial.y[orders][:, trial.test]),
            *levels(train, trial.y[orders][:, trial.train]),
        ]
        assert [row[key] for key in NULLS] == pytest.approx(expected, rel=1e-7), (name, task, method, number)


def test_stored_products_are_those_of_dense_matrices(done: Run) -> None:
    root, _, samples, _ = done
    store = RunStore(LocalStorage(root))
    for name, task in (("plain", "classification"), ("classes", "classification")):
        found = store.read(STATISTICS, f"{name}/{task}/a_permuted")
        assert found.shape[1:] == (COUNT, len(GAMMAS))
        for number in range(len(found)):
            trial, orders = plain(samples[name], task, number)
            for labels, products in zip(trial.y[orders][:, trial.train], found[number], strict=True):
                block = labels.reshape(len(labels), -1)
                expected = [np.vdot(kernel[trial.train], block @ block.T) for kernel in trial.kernels]
                np.testing.assert_allclose(products, expected, rtol=1e-9)


def test_alignments_that_do_not_exceed_their_quantile_are_noted(done: Run) -> None:
    root, plan, _, rows = done
    notes = pd.read_csv(root / "results" / "notes.csv").fillna("")
    within = rows[rows.alignment_test <= rows.null_alignment_test_95]
    counts = within.groupby(["dataset", "task", "method"]).size()
    found = notes[notes.note.str.startswith("the alignment on the test fold does not exceed its 95 % quantile")]
    assert len(found) == len(counts)
    assert "noise" in set(within.dataset)
    for note in found.to_dict("records"):
        count = counts[note["dataset"], note["task"], note["method"]]
        trials = plan.datasets[0].trials
        assert f"for permuted labels in {count} of {trials} trials" in note["note"]


def test_the_plan_projects_the_disk_exactly(done: Run) -> None:
    root, plan, _, _ = done
    for planned in plan.datasets:
        for array in planned.arrays:
            if "permuted" in array.name:
                chunks = (path for path in (root / array.key / "c").rglob("*") if path.is_file())
                assert array.stored_bytes == sum(path.stat().st_size for path in chunks), array.key


def test_without_permutations_nothing_is_added(tmp_path: Path, done: Run) -> None:
    (tmp_path / "all.csv").write_bytes((done[0] / "all.csv").read_bytes())
    values = sweep(1) | {"protocol": {"folds": FOLDS}, "methods": ["alignf"]}
    plan, _, finished = run_here(tmp_path, parsed(values | {"dataset": values["dataset"][:1]}))
    rows = write_results(tmp_path, plan, finished)
    assert not set(NULLS) & set(rows)
    assert not any("permuted" in array.name for array in plan.datasets[0].arrays)
    chosen = done[3][(done[3].dataset == "plain") & (done[3].method == "alignf") & (done[3].repeat == 0)]
    for column in ("error", "alignment_test", "debiased_alignment_train"):
        np.testing.assert_allclose(rows[column], chosen[column], rtol=1e-7)
