"""A sweep of several families on views of the columns, against whole matrices of scikit-learn's kernels."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w
from click.testing import CliRunner
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import dense, put
from tests.helpers.plain import Trial, trial_of
from tests.helpers.sweeps import forget

FOLDS = 3
ROWS = 60
METHODS = ["unif", "align", "alignf"]
KERNELS: list[dict[str, Any]] = [
    {"family": "gaussian", "log2_gamma": [-3, -2], "columns": ["gene_*"], "name": "genes"},
    {"family": "linear", "columns": ["age", "color"], "name": "clinical"},
    {"family": "gaussian", "log2_gamma": [0, 0], "columns": [1, 4], "name": "clinical"},
    {"family": "gaussian", "log2_gamma": [-4, -4]},
    {"family": "linear", "columns": ["4-6"], "each": "column"},
    {"family": "rank-one", "columns": ["age"]},
]
# Indices among age, color_green, color_red, gene_1, gene_2 and gene_3.
PLACES = {"genes": [3, 4, 5], "clinical": [0, 1, 2], "second": [0, 3], "all": [0, 1, 2, 3, 4, 5]}
NAMES = [
    "genes:gaussian(2^-3)",
    "genes:gaussian(2^-2)",
    "clinical:linear",
    "clinical:gaussian(2^0)",
    "gaussian(2^-4)",
    "gene_1:linear",
    "gene_2:linear",
    "gene_3:linear",
    "age:linear",
]
SWEEP: dict[str, Any] = {
    "name": "views",
    "baselines": False,
    "methods": METHODS,
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -20, "to": 0, "step": 4}, "svm": {"from": 0, "to": 12, "step": 4}},
    "storage": {"tile": 16},
    "dataset": [
        {
            "name": "patients",
            "task": ["regression", "classification"],
            "source": "file",
            "path": "patients.csv",
            "format": "csv",
            "target": "score",
            "positive": ["1"],
            "drop": ["id"],
            "encode": "onehot",
            "scale": "standard",
            "kernels": KERNELS,
        }
    ],
}


def table() -> str:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(ROWS, 3)), columns=["gene_1", "gene_2", "gene_3"])
    frame.insert(0, "id", np.arange(ROWS) + 1000)
    frame.insert(1, "age", random.integers(20, 80, ROWS))
    frame.insert(2, "score", random.choice([0, 1], ROWS))
    frame["score"] = (frame["gene_1"] + frame["age"] / 50 + random.normal(size=ROWS) > 1).astype(int)
    frame.insert(3, "color", random.choice(["red", "green"], ROWS))
    return frame.to_csv(index=False)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PreparedDataset]:
    """Return a finished run and its samples."""
    folder = tmp_path_factory.mktemp("views")
    put(folder, table(), "patients.csv")
    (folder / "sweep.toml").write_text(tomli_w.dumps(SWEEP))
    done = CliRunner().invoke(
        main,
        [
            "run",
            str(folder / "sweep.toml"),
            "--cluster",
            "threads",
            "--data-dir",
            str(folder),
            "--out",
            str(folder / "run"),
        ],
    )
    assert done.exit_code == 0, done.output
    config = parse_config(SWEEP, "the test")
    return folder / "run", prepare_dataset(config, config.dataset[0], folder)


def whole_kernels(features: Floats) -> Floats:
    """Return all kernels by scikit-learn, (p, m, m)."""
    parts = {name: features[:, places] for name, places in PLACES.items()}
    return np.array(
        [
            rbf_kernel(parts["genes"], gamma=2.0**-3),
            rbf_kernel(parts["genes"], gamma=2.0**-2),
            linear_kernel(parts["clinical"]),
            rbf_kernel(parts["second"], gamma=1.0),
            rbf_kernel(parts["all"], gamma=2.0**-4),
            *(linear_kernel(features[:, [place]]) for place in (3, 4, 5, 0)),
        ]
    )


def trials_of(samples: PreparedDataset, task: str) -> list[Trial]:
    return [trial_of(samples, whole_kernels(dense(samples)), task, trial, FOLDS) for trial in range(FOLDS)]


def test_stored_gram_matrices_are_symmetric_and_those_of_scikit_learn(sweep: tuple[Path, PreparedDataset]) -> None:
    root, samples = sweep
    stored = RunStore(LocalStorage(root)).array(GRAM, "patients/gram")
    assert stored.attrs["kernels"] == NAMES == list(samples.kernels)
    whole = np.argsort(samples.order)
    run = kp.open_run(root)
    for name, expected in zip(NAMES, whole_kernels(dense(samples)), strict=True):
        found = run.gram("patients", name)
        np.testing.assert_array_equal(found, found.T)
        np.testing.assert_allclose(found, expected[np.ix_(whole, whole)], rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_statistics_weights_and_errors_equal_a_dense_recomputation(
    sweep: tuple[Path, PreparedDataset], task: str
) -> None:
    root, samples = sweep
    store = RunStore(LocalStorage(root))
    rows = pd.read_csv(root / "results/rows.csv").query(f"task == '{task}'").set_index(["method", "trial"])
    path = pd.read_csv(root / "results/path.csv").query(f"task == '{task}'")
    assert (rows["status"] == "ok").all()
    for number, trial in enumerate(trials_of(samples, task)):
        np.testing.assert_allclose(
            store.read(STATISTICS, f"patients/{task}/M", number), trial.products, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(store.read(STATISTICS, f"patients/{task}/a", number), trial.a, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            store.read(STATISTICS, f"patients/{task}/trace", number), trial.trace, rtol=1e-9, atol=1e-12
        )
        weights = {method: store.read(WEIGHTS, f"patients/{task}/{method}", number) for method in METHODS}
        np.testing.assert_allclose(weights["unif"], 1 / len(NAMES))
        ratio = trial.a / np.sqrt(np.diag(trial.products))
        np.testing.assert_allclose(weights["align"], ratio / ratio.sum(), rtol=1e-9)
        slope = trial.products @ weights["alignf"]
        slope = slope * (trial.a @ weights["alignf"]) / (weights["alignf"] @ slope) - trial.a
        assert (slope > -1e-7 * np.abs(trial.a).max()).all()
        assert np.abs(slope[weights["alignf"] > 0]).max() < 1e-7 * np.abs(trial.a).max()
        for method, mu in weights.items():
            row = rows.loc[[(method, number)]].iloc[0]
            assert row["alignment_test"] == pytest.approx(trial.alignment(mu, "test"), rel=1e-9)
            values = path[(path["method"] == method) & (path["trial"] == number)]["regularisation"].to_list()
            errors = trial.path(mu, values)
            chosen = errors[values.index(row["regularisation"])]
            assert row["validation_error"] == pytest.approx(min(one.validation for one in errors), rel=1e-6)
            assert row["error"] == pytest.approx(chosen.test, rel=1e-6)


def test_a_resumed_run_needs_no_source(sweep: tuple[Path, PreparedDataset], tmp_path: Path) -> None:
    root = shutil.copytree(sweep[0], tmp_path / "run")
    tables = (root / "results/rows.csv").read_bytes()
    forget(root, "tiles/patients/0", "fits/patients/regression/alignf/1")
    (root / "results/rows.csv").unlink()
    shutil.rmtree(root / "gram.zarr/patients/gram/c/0/0")
    done = CliRunner().invoke(main, ["resume", str(root), "--cluster", "threads", "--data-dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (root / "results/rows.csv").read_bytes() == tables
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0


def test_the_names_of_features_are_those_of_the_encoded_table(sweep: tuple[Path, PreparedDataset]) -> None:
    assert kp.open_run(sweep[0]).features("patients") == (
        "age",
        "color_green",
        "color_red",
        "gene_1",
        "gene_2",
        "gene_3",
    )


def test_other_columns_of_a_view_are_another_sweep_and_only_the_new_kernels_differ(
    sweep: tuple[Path, PreparedDataset], tmp_path: Path
) -> None:
    root = shutil.copytree(sweep[0], tmp_path / "run")
    put(tmp_path, table(), "patients.csv")
    kernels = [*KERNELS[:4], KERNELS[4] | {"columns": ["4-5"]}, KERNELS[5] | {"columns": ["age", 6]}]
    changed = SWEEP | {"dataset": [SWEEP["dataset"][0] | {"kernels": kernels}]}
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps(changed))
    command = ["run", str(tmp_path / "sweep.toml"), "--cluster", "threads", "--out", str(root)]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 4
    assert "dataset[0].kernels[4].columns: ['4-6'] -> ['4-5']" in refused.output
    done = CliRunner().invoke(main, [*command, "--accept-changes"])
    assert done.exit_code == 0, done.output
    before, after = kp.open_run(sweep[0]), kp.open_run(root)
    for name in NAMES:  # one kernel of the rank-one family has moved to another place
        np.testing.assert_array_equal(before.gram("patients", name), after.gram("patients", name))


def test_columns_that_move_in_the_source_are_changed_data(sweep: tuple[Path, PreparedDataset], tmp_path: Path) -> None:
    root = shutil.copytree(sweep[0], tmp_path / "run")
    put(tmp_path, table().replace("gene_1", "gene_0", 1), "patients.csv")
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps(SWEEP))
    done = CliRunner().invoke(main, ["run", str(tmp_path / "sweep.toml"), "--cluster", "threads", "--out", str(root)])
    assert done.exit_code == 4
    assert "the data of 'patients' have changed" in done.output


def test_features_of_a_rank_one_family_are_the_names_of_its_kernels_without_their_prefix(tmp_path: Path) -> None:
    put(tmp_path, table(), "patients.csv")
    kernels = [{"family": "rank-one", "columns": ["gene_*"], "name": "genes"}]
    dataset = SWEEP["dataset"][0] | {"kernels": kernels}
    run = kp.run(SWEEP | {"dataset": [dataset]}, cluster="threads", out=tmp_path / "run", data_dir=tmp_path)
    assert list(run.weights("patients", "unif", "regression")["kernel"]) == [f"genes:gene_{k}" for k in (1, 2, 3)]
    assert run.features("patients") == ("gene_1", "gene_2", "gene_3")
    frame = pd.read_csv(tmp_path / "patients.csv")["gene_2"]
    scaled = ((frame - frame.mean()) / frame.std(ddof=0)).to_numpy()
    np.testing.assert_allclose(run.gram("patients", "genes:gene_2"), np.outer(scaled, scaled), atol=1e-12)
