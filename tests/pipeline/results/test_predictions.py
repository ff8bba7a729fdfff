"""The table of predictions reproduces every error and metric of the rows; confusion counts the same predictions."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.maintenance import clean_run
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import flip, resume_here, run_here

GAUSSIAN = {"family": "gaussian", "log2_gamma": [-3, -1]}
COLUMNS = {"family": "rank-one"}
CELL = ["dataset", "task", "method", "trial"]


def write_outputs(path: Path) -> None:
    """Write a regression problem with two outputs, of which one has large values."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(40, 2))
    frame = pd.DataFrame(features, columns=["x1", "x2"])
    frame.assign(y1=features[:, 0] + 0.1 * rng.normal(size=40), y2=50 * features[:, 1]).to_csv(path, index=False)


DATASETS: list[dict[str, Any]] = [
    {"name": "wave", "source": "synthetic", "task": "regression", "rows": 50, "kernels": [GAUSSIAN]},
    {
        "name": "flowers",
        "source": "sklearn",
        "id": "iris",
        "task": ["regression", "classification"],
        "positive": ["virginica"],
        "rows": 60,
        "kernels": [GAUSSIAN],
    },
    {"name": "irises", "source": "sklearn", "id": "iris", "task": "classification", "rows": 61, "kernels": [GAUSSIAN]},
    {"name": "counts", "source": "sklearn", "id": "wine", "task": "classification", "rows": 60, "kernels": [COLUMNS]},
    {
        "name": "outputs",
        "source": "file",
        "path": "outputs.csv",
        "format": "csv",
        "target": ["y1", "y2"],
        "task": "regression",
        "kernels": [GAUSSIAN],
    },
]
SWEEP: dict[str, Any] = {
    "name": "predicted",
    "baselines": False,
    "methods": ["unif", "alignf", "alignf-linear", "l1-svm", "l2-krr"],
    "protocol": {"folds": 4},
    "fit": {
        "krr": {"from": -12, "to": 0, "step": 6},
        "svm": {"from": 0, "to": 8, "step": 4},
        "l1-svm": {"from": 2, "to": 6, "step": 4},
        "l2-krr": {"from": 4, "to": 8, "step": 4},
    },
    "dataset": DATASETS,
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Plan]:
    root = tmp_path_factory.mktemp("predicted")
    write_outputs(root / "outputs.csv")
    plan, _, _ = run_here(root, parse_config(SWEEP, "a test"))
    assert resume_here(root)[0] == 0
    return root, plan


@pytest.fixture
def predictions(done: tuple[Path, Plan]) -> pd.DataFrame:
    return pd.read_parquet(done[0] / "results/predictions.parquet")


@pytest.fixture
def rows(done: tuple[Path, Plan]) -> pd.DataFrame:
    return pd.read_csv(done[0] / "results/rows.csv")


def test_every_error_of_the_rows_is_reproduced(rows: pd.DataFrame, predictions: pd.DataFrame) -> None:
    cells = dict(iter(predictions.groupby([*CELL, "role"])))
    assert len(cells) == 2 * len(rows)
    for row in rows.to_dict("records"):
        key = tuple(row[name] for name in CELL)
        for role, error in (("test", row["error"]), ("validation", row["validation_error"])):
            part = cells[(*key, role)]
            found = (
                np.sqrt(np.mean((part["true"] - part["prediction"]) ** 2))
                if row["task"] == "regression"
                else np.mean(part["true"] != part["prediction"])
            )
            assert found == pytest.approx(error, rel=1e-12, abs=1e-15), (key, role)


def test_every_metric_of_the_rows_is_reproduced(rows: pd.DataFrame, predictions: pd.DataFrame) -> None:
    tested = predictions[predictions["role"] == "test"]
    cells = dict(iter(tested.groupby(CELL)))
    for row in rows.to_dict("records"):
        part = cells[tuple(row[name] for name in CELL)]
        true, found = part["true"], part["prediction"]
        if row["task"] == "regression":
            blocks = [part[part["output"] == output] for output in part["output"].unique()]
            expected = {
                "rmse": row["error"],
                "mae": sklearn.metrics.mean_absolute_error(true, found),
                "r2": np.mean([sklearn.metrics.r2_score(block["true"], block["prediction"]) for block in blocks]),
            }
        else:
            expected = {
                "misclassification": row["error"],
                "balanced_error": 1 - sklearn.metrics.balanced_accuracy_score(true, found),
                "f1": sklearn.metrics.f1_score(true, found, average="macro"),
            }
            two = set(true) == {-1.0, 1.0}
            expected["auc"] = sklearn.metrics.roc_auc_score(true, part["decision"]) if two else np.nan
        for name in ("rmse", "misclassification", "balanced_error", "auc", "f1", "log_loss", "mae", "r2"):
            assert row[name] == pytest.approx(expected.get(name, np.nan), rel=1e-9, abs=1e-14, nan_ok=True), name


def test_every_sample_is_tested_once_and_validated_once(predictions: pd.DataFrame) -> None:
    for (dataset, *_), part in predictions.groupby(["dataset", "task", "method", "output", "role"]):
        assert part["row"].is_unique, dataset
    sizes = predictions.groupby("dataset")["row"].nunique().to_dict()
    assert sizes == {"wave": 50, "flowers": 60, "irises": 61, "counts": 60, "outputs": 40}
    assert (predictions["repeat"] == 0).all()


def test_rows_are_those_of_the_source(done: tuple[Path, Plan], predictions: pd.DataFrame) -> None:
    source = pd.read_csv(done[0] / "outputs.csv")
    for output in ("y1", "y2"):
        part = predictions[(predictions["dataset"] == "outputs") & (predictions["output"] == output)]
        np.testing.assert_array_equal(part["true"], source[output].to_numpy()[part["row"]])
    assert (predictions.loc[predictions["dataset"] != "outputs", "output"] == "").all()


def test_predictions_follow_from_decision_values(predictions: pd.DataFrame) -> None:
    two = predictions[(predictions["task"] == "classification") & (predictions["dataset"] == "flowers")]
    np.testing.assert_array_equal(np.where(two["decision"] >= 0, 1.0, -1.0), two["prediction"])
    names = ["decision_setosa", "decision_versicolor", "decision_virginica"]
    three = predictions[predictions["dataset"] == "irises"]
    np.testing.assert_array_equal(three[names].to_numpy().argmax(axis=1), three["prediction"])
    assert three["decision"].isna().all()
    assert two[names].isna().all(axis=None)
    assert predictions.loc[predictions["task"] == "regression", ["decision", *names]].isna().all(axis=None)
    assert list(predictions.columns[:11]) == [
        *CELL[:3],
        "repeat",
        "trial",
        "role",
        "row",
        "output",
        "true",
        "prediction",
        "decision",
    ]


def test_confusion_counts_the_test_samples(done: tuple[Path, Plan], predictions: pd.DataFrame) -> None:
    confusion = pd.read_csv(done[0] / "results/confusion.csv")
    assert set(confusion["task"]) == {"classification"}
    irises = confusion[(confusion["dataset"] == "irises") & (confusion["method"] == "unif")]
    part = predictions[
        (predictions["dataset"] == "irises") & (predictions["method"] == "unif") & (predictions["role"] == "test")
    ]
    classes = ["setosa", "versicolor", "virginica"]
    found = irises.pivot_table(index="true_class", columns="predicted_class", values="samples", aggfunc="sum")
    found = found.reindex(index=classes, columns=classes).fillna(0)
    np.testing.assert_array_equal(found, sklearn.metrics.confusion_matrix(part["true"], part["prediction"]))
    flowers = confusion[confusion["dataset"] == "flowers"]
    assert set(flowers["true_class"]) == {"setosa,versicolor", "virginica"}
    assert (confusion["samples"] > 0).all()


def test_tables_need_no_data_that_clean_removes(done: tuple[Path, Plan], tmp_path: Path) -> None:
    root = shutil.copytree(done[0], tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.name != "timings.csv"}
    clean_run(LocalStorage(root))
    assert not (root / "data.zarr/wave/features/c").exists()
    for name in ("predictions.parquet", "confusion.csv", "weights.csv", "comparison.csv"):
        (root / "results" / name).unlink()
    assert resume_here(root)[0] == 0
    after = {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.name != "timings.csv"}
    assert after == before


def test_a_damaged_prediction_is_found(done: tuple[Path, Plan], tmp_path: Path) -> None:
    root = shutil.copytree(done[0], tmp_path / "run")
    chunk = root / "predictions.zarr/wave/regression/unif/c/1/0/0"
    flip(chunk)
    report = verify_run(LocalStorage(root))
    assert [finding.entry for finding in report.findings] == ["fits/wave/regression/unif/1"]
