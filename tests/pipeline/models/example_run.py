"""A small run with one dataset of each kind of source; the tests fit models from it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.helpers.sweeps import run_here, small_config

FOLDS = 3
METHODS: list[Any] = ["unif", "alignf", "alignf-linear"]
GAUSSIANS: list[dict[str, Any]] = [{"family": "gaussian", "gamma": [0.1, 2.0]}, {"family": "linear"}]
VIEWS: list[dict[str, Any]] = [
    {"family": "gaussian", "columns": ["age", "pressure"], "gamma": [0.5, "median"], "name": "numbers"},
    {"family": "linear", "columns": ["sex", "smoker"], "name": "answers"},
]
CLINIC: dict[str, Any] = {
    "source": "file",
    "path": "clinic.csv",
    "format": "csv",
    "target": "outcome",
    "index": "patient",
    "encode": "onehot",
    "missing": "mean",
    "scale": "standard",
    "task": "classification",
    "kernels": VIEWS,
}
TEXT: dict[str, Any] = {"task": "classification", "kernels": [{"family": "rank-one", "features": "unigrams", "top": 9}]}
DATASETS: list[dict[str, Any]] = [
    {"name": "wave", "source": "synthetic", "task": "regression", "rows": 60, "kernels": GAUSSIANS},
    {"name": "wines", "source": "sklearn", "id": "wine", "task": "classification", "rows": 90, "scale": "standard"}
    | {"kernels": GAUSSIANS},
    {"name": "body", "source": "sklearn", "id": "linnerud", "task": "regression", "scale": "standard"}
    | {"kernels": [{"family": "gaussian", "gamma": "median"}, {"family": "linear"}]},
    {"name": "clinic", **CLINIC},
    {"name": "clinic-train", **CLINIC, "fit_on": "train"},
    {"name": "columns", **CLINIC, "kernels": [{"family": "rank-one"}]},
    {"name": "reviews", "source": "text", "path": "reviews.txt", **TEXT},
    {"name": "opinions", "source": "file", "path": "opinions.csv", "format": "csv", "target": "stars", "text": "said"}
    | {**TEXT, "fit_on": "train", "counts": "tf-idf", "missing": "drop"},
    {"name": "sparse", "source": "file", "path": "rows.libsvm", "format": "libsvm", "task": "regression"}
    | {"kernels": [{"family": "rank-one"}]},
]
SHORT = {"from": -2, "to": 2, "step": 4}
FIT: dict[str, Any] = {
    "krr": {"from": -20, "to": 0, "step": 4},
    "svm": {"from": 0, "to": 12, "step": 4},
    "l1-svm": {"from": 0, "to": 8, "step": 4},
    "l2-krr": {"from": 0, "to": 12, "step": 4},
    "align-krr": {"gamma": SHORT, "gamma1": SHORT, "gamma2": SHORT},
}
WORDS = ["good", "bad", "fine", "poor", "nice", "awful", "book", "film", "story", "plot", "ending", "actor"]


def clinic_table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age, pressure = rng.normal(50, 10, rows).round(1), rng.normal(130, 15, rows).round(0)
    sex, smoker = rng.choice(["f", "m"], rows), rng.choice(["no", "yes", "former"], rows)
    ill = age + pressure / 5 + 8 * (smoker == "yes") + rng.normal(0, 8, rows) > 80
    table = pd.DataFrame(
        {"patient": [f"p{row}" for row in range(rows)], "age": age, "sex": sex, "pressure": pressure, "smoker": smoker}
    )
    table.loc[::7, "pressure"] = np.nan
    table.loc[3::11, "smoker"] = None
    return table.assign(outcome=np.where(ill, "ill", "healthy"))


def documents(rows: int = 48) -> tuple[list[str], list[str]]:
    """Return labels and texts of documents."""
    rng = np.random.default_rng(6)
    labels = np.where(np.arange(rows) % 2, "pos", "neg").tolist()
    texts = []
    for label in labels:
        liked = rng.choice(WORDS[0:5:2] if label == "pos" else WORDS[1:6:2], 2)
        texts.append(" ".join([*liked, *rng.choice(WORDS, 4)]))
    return labels, texts


def sparse_rows(rows: int = 45) -> tuple[np.ndarray, np.ndarray]:
    """Return features with many zeros, and a target."""
    rng = np.random.default_rng(7)
    features = np.where(rng.random((rows, 8)) < 0.5, rng.normal(size=(rows, 8)).round(3), 0.0)
    return features, (features[:, 0] - features[:, 3] + 0.1 * rng.normal(size=rows)).round(3)


def run_example(root: Path) -> None:
    """Write the sources and run the sweep."""
    clinic_table().to_csv(root / "clinic.csv", index=False)
    labels, texts = documents()
    (root / "reviews.txt").write_text("".join(f"{label} {text}\n" for label, text in zip(labels, texts, strict=True)))
    pd.DataFrame({"said": texts, "by": "someone", "stars": labels}).to_csv(root / "opinions.csv", index=False)
    features, target = sparse_rows()
    lines = [
        f"{number} " + " ".join(f"{place + 1}:{value}" for place, value in enumerate(row) if value) + "\n"
        for number, row in zip(target, features, strict=True)
    ]
    (root / "rows.libsvm").write_text("".join(lines))
    methods = [*METHODS, {"method": "alignf-plus", "upper": 0.4}, "alignf-ridge", "hsic"]
    methods += ["l1-svm", "l2-krr", "align-krr", "each-kernel", "best-single"]
    run_here(root, small_config(methods=methods, protocol={"folds": FOLDS}, fit=FIT, dataset=DATASETS))
