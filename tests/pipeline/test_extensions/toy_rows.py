"""A file for the toy data source, and its dataset in a config."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.helpers.build import GAUSSIAN, put

FEATURES = np.random.default_rng(7).normal(size=(30, 3))
TARGET = FEATURES @ [1.0, -2.0, 0.5] + 0.1 * FEATURES[:, 0] ** 2
DATASET: dict[str, Any] = {
    "name": "toy",
    "task": "regression",
    "source": "json-lines",
    "path": "toy.jsonl",
    "factor": 2.0,
    "scale": "minmax",
    "kernels": [GAUSSIAN],
}


def put_rows(folder: Path, factor: float = 1.0) -> Path:
    """Write the file of the toy source."""
    lines = [json.dumps({"x": (factor * x).tolist(), "y": y}) for x, y in zip(FEATURES, TARGET, strict=True)]
    return put(folder, "\n".join(lines), "toy.jsonl")
