"""A sweep of rank-one families over two files, and helpers for its tests."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import Plan
from tests.helpers.plain import Floats, Trial

FOLDS = 4
CONSTANT = 2
"""Index of the constant column of the numbers."""
METHODS: list[Any] = [
    *("unif", "align", {"method": "align", "q": 1.5}, "alignf", "alignf-linear", "best-kernel"),
    *("l1-svm", "l2-krr", "align-krr"),
]
TWO_STAGE = ["unif", "align", "align-q1.5", "alignf", "alignf-linear", "best-kernel"]
MAX_CERTIFICATES = {"alignf": 1e-9, "alignf-linear": 1e-9, "l1-svm": 1e-4, "l2-krr": 1e-6, "align-krr": 1e-6}
SWEEP: dict[str, Any] = {
    "name": "columns",
    "seed": 5,
    "baselines": False,
    "methods": METHODS,
    "protocol": {"folds": FOLDS},
    "fit": {
        "krr": {"from": -16, "to": 0, "step": 4},
        "svm": {"from": 0, "to": 8, "step": 4},
        "l1-svm": {"from": 2, "to": 8, "step": 3},
        "l2-krr": {"from": 0, "to": 12, "step": 4},
        "align-krr": {
            "gamma": {"from": -2, "to": 0, "step": 2},
            "gamma1": {"from": -10, "to": -10},
            "gamma2": {"from": -16, "to": -8, "step": 8},
        },
    },
    "dataset": [
        {
            "name": "numbers",
            "task": "regression",
            "source": "file",
            "path": "numbers.csv",
            "format": "csv",
            "target": "size",
            "drop": ["side"],
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "sides",
            "task": "classification",
            "source": "file",
            "path": "numbers.csv",
            "format": "csv",
            "target": "side",
            "drop": ["size"],
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "documents",
            "task": ["regression", "classification"],
            "source": "text",
            "path": "documents.txt",
            "kernels": [{"family": "rank-one", "features": "bigrams"}],
        },
    ],
}
NAMES = ["plain", "year", "same", "far", "count", "noise"]
CELLS = [
    (name, task, method)
    for name, task in [
        ("numbers", "regression"),
        ("sides", "classification"),
        ("documents", "regression"),
        ("documents", "classification"),
    ]
    for method in [*TWO_STAGE, *(["l1-svm"] if task == "classification" else ["l2-krr", "align-krr"])]
]
RankOneRun = tuple[Path, Plan, dict[str, PreparedDataset]]


def write_data(folder: Path) -> None:
    rng = np.random.default_rng(1)
    m = 70
    columns = np.column_stack(
        [
            rng.normal(size=m),
            2000.0 + rng.integers(-1, 2, m),
            np.full(m, 7.1),
            1e7 + rng.normal(size=m),
            rng.poisson(0.3, m),
            rng.normal(size=m),
        ]
    )
    moved = columns - columns.mean(axis=0)
    size = moved @ [1.0, 0.6, 0.0, -0.7, 0.4, 0.0] + 0.5 * rng.normal(size=m) + 30.0
    table = pd.DataFrame(columns, columns=NAMES).assign(size=size, side=np.where(size > 30.3, "up", "down"))
    table.to_csv(folder / "numbers.csv", index=False)
    words = np.array(["good", "fine", "dull", "bad", "long", "film", "book", "plot", "end", "cast"])
    lines = []
    for number in range(60):
        label = number % 2
        likely = np.where(np.isin(words, ["good", "fine"] if label else ["dull", "bad"]), 3.0, 1.0)
        chosen = rng.choice(words, size=9, p=likely / likely.sum())
        lines.append(f"{label} {' '.join(chosen)}\n")
    (folder / "documents.txt").write_text("".join(lines))


Trials = dict[tuple[str, str, int], Trial]


def cells(trials: Trials, name: str, task: str) -> list[tuple[int, Trial]]:
    return [(trial, trials[name, task, trial]) for trial in range(FOLDS)]


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def check_measures(row: dict[str, Any], mu: Floats, plain: Trial) -> None:
    assert row["n_kernels"] == len(mu)
    assert row["n_active"] == np.count_nonzero(mu)
    assert abs(row["certificate"]) <= MAX_CERTIFICATES.get(row["method"], 0.0)  # rounding may make one negative
    for where in ("train", "test"):
        assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-6, abs=1e-9, nan_ok=True)
        expected = plain.debiased_alignment(mu, where)
        assert row[f"debiased_alignment_{where}"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
