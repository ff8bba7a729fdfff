"""Weights in the table equal the stored arrays, and directions of rank-one kernels the signs of covariances."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.results.tables import weights as weights_table
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import run_here, write_results

FOLDS = 3
SWEEP: dict[str, Any] = {
    "name": "weighted",
    "baselines": False,
    "methods": ["unif", "alignf", "alignf-linear"],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -6, "to": 0, "step": 6}},
    "dataset": [
        {
            "name": "columns",
            "source": "sklearn",
            "id": "diabetes",
            "task": "regression",
            "rows": 90,
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 40,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 1]}],
        },
    ],
}


def test_weights_are_those_of_the_arrays(tmp_path: Path) -> None:
    plan, samples, finished = run_here(tmp_path, parse_config(SWEEP, "a test"))
    write_results(tmp_path, plan, finished)
    table = pd.read_csv(tmp_path / "results/weights.csv")
    assert list(table.columns) == [
        "dataset",
        "task",
        "method",
        "repeat",
        "trial",
        "kernel",
        "weight",
        "direction",
    ]
    store = RunStore(LocalStorage(tmp_path))
    for (dataset, method, trial), part in table.groupby(["dataset", "method", "trial"]):
        kernels = next(found.kernels for found in plan.datasets if found.name == dataset)
        stored = pd.Series(store.read(WEIGHTS, f"{dataset}/regression/{method}", int(str(trial))), kernels)
        assert part["weight"].abs().is_monotonic_decreasing
        expected = stored[stored != 0]
        assert dict(zip(part["kernel"], part["weight"], strict=True)) == expected.to_dict()
    assert table.loc[table["dataset"] == "wave", "direction"].isna().all()

    bunch = load_diabetes()
    columns, y, fold = bunch.data[samples[0].order], bunch.target[samples[0].order], samples[0].fold
    for trial in range(FOLDS):
        train = ~np.isin(fold, [trial, (trial + 1) % FOLDS])
        signs = {
            name: np.sign(np.cov(column, y[train])[0, 1])
            for name, column in zip(plan.datasets[0].kernels, columns[train].T, strict=True)
        }
        part = table[(table["dataset"] == "columns") & (table["trial"] == trial)]
        assert {signs[name] for name in part["kernel"]} == {-1.0, 1.0}
        assert part["direction"].tolist() == [signs[name] for name in part["kernel"]]


def test_the_strongest_kernels_are_listed_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_table, "MAX_KERNELS", 2)
    assert weights_table.strongest(np.array([0.1, -0.4, 0.1, 0.4])) == [1, 3]
    assert weights_table.strongest(np.array([0.0, 0.0, 1.0])) == [2]
