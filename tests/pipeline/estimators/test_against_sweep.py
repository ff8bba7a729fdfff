"""Weights and predictions of the estimators, compared with those of a sweep for the same training rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from kernel_pipeline.store.arrays import DATA, GRAM, PREDICTIONS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.folds import trials
from tests.helpers.sweeps import run_here, small_config, write_results

# The widths differ by large factors, so that M is well-conditioned and rounding does not change the weights.
KERNELS: list[dict[str, Any]] = [{"family": "gaussian", "gamma": [0.1, 2.0]}, {"family": "linear"}]
METHODS = ["unif", {"method": "align", "q": 2.0}, "alignf", "alignf-linear"]
FOLDS = 3
CELLS: list[tuple[str, str, Any]] = [
    ("wave", "regression", kp.AlignedKernelRegressor),
    ("flowers", "classification", kp.AlignedKernelClassifier),
    ("wines", "classification", kp.AlignedKernelClassifier),
]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunStore, pd.DataFrame]:
    root: Path = tmp_path_factory.mktemp("sweep")
    datasets: list[dict[str, Any]] = [
        {"name": "wave", "source": "synthetic", "task": "regression", "rows": 60},
        {"name": "flowers", "source": "sklearn", "id": "iris", "task": "classification", "positive": ["virginica"]},
        {"name": "wines", "source": "sklearn", "id": "wine", "task": "classification", "scale": "standard"},
    ]
    config = small_config(
        methods=METHODS,
        protocol={"folds": FOLDS},
        dataset=[{"rows": 90, "kernels": KERNELS} | dataset for dataset in datasets],
    )
    plan, _, finished = run_here(root, config)
    return RunStore(LocalStorage(root)), write_results(root, plan, finished)


@pytest.mark.parametrize("method", METHODS, ids=["unif", "align-q2", "alignf", "alignf-linear"])
@pytest.mark.parametrize(("dataset", "problem", "estimator"), CELLS, ids=[cell[0] for cell in CELLS])
def test_the_estimator_reproduces_a_trial(
    sweep: tuple[RunStore, pd.DataFrame], dataset: str, problem: str, estimator: Any, method: Any
) -> None:
    store, rows = sweep
    method_id = "align-q2" if isinstance(method, dict) else method
    X, targets = (np.asarray(store.read(DATA, f"{dataset}/{name}")) for name in ("features", "targets"))
    fold = np.asarray(store.read(GRAM, f"{dataset}/fold"))
    y = targets[:, 0] if targets.shape[1] == 1 else targets.argmax(axis=1)
    number = 1
    trial = trials(FOLDS)[number]
    train, test = np.isin(fold, trial.train), fold == trial.test
    chosen = (rows["dataset"] == dataset) & (rows["method"] == method_id) & (rows["trial"] == number)
    (row,) = rows[chosen].to_dict("records")

    value = {"alpha" if problem == "regression" else "C": float(row["regularisation"])}
    model = estimator(method, kernels=KERNELS, **value).fit(X[train], y[train])
    name = f"{dataset}/{problem}/{method_id}"
    # The solution of a linear system amplifies rounding, which depends on the order of the sums, by the condition of M.
    tolerance = 1e-10 if method == "alignf-linear" else 1e-12
    np.testing.assert_allclose(model.weights_, store.read(WEIGHTS, name, number), rtol=0, atol=tolerance)
    assert list(model.weights_.index) == ["gaussian(0.1)", "gaussian(2)", "linear"]
    np.testing.assert_allclose(model.alignment_, row["alignment_train"], rtol=1e-10)
    stored = store.read(PREDICTIONS, name, number, allow_nan=True)[test]
    if targets.shape[1] > 1:
        np.testing.assert_array_equal(model.predict(X[test]), stored.argmax(axis=1))
    else:
        values = model.predict(X[test]) if problem == "regression" else model.decision_function(X[test])
        np.testing.assert_allclose(values, stored[:, 0], rtol=1e-9, atol=1e-9)
