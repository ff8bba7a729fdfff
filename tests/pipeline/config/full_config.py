"""A config in which every field has a value, and the messages about wrong ones."""

from typing import Any

import pytest

from kernel_pipeline.config.loading import (
    parse_config,
)
from kernel_pipeline.errors import ConfigError

# A config in which every field has a value, optional ones too: one dataset of each source.
FULL: dict[str, Any] = {
    "name": "full",
    "description": "everything",
    "seed": 7,
    "methods": [{"method": "align", "q": 1.5}, "unif", "align", "l1-svm", "l2-krr", "align-krr"],
    "protocol": {"folds": 4},
    "fit": {
        "krr": {"from": -6, "to": 0, "step": 3},
        "svm": {"from": -2, "to": 2, "step": 1},
        "l1-svm": {"from": -3, "to": 3, "step": 1},
        "l2-krr": {"from": 0, "to": 12, "step": 4},
        "align-krr": {
            "gamma": {"from": -6, "to": 0, "step": 3},
            "gamma1": {"from": -8, "to": -2, "step": 6},
            "gamma2": {"from": -9, "to": 0, "step": 3},
        },
    },
    "storage": {"tile": 64, "url": "s3://bucket/prefix"},
    "dataset": [
        {
            "name": "file",
            "task": ["regression", "classification"],
            "rows": 50,
            "scale": "standard",
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 3]}, {"family": "gaussian", "log2_gamma": [5, 5]}],
            "target": "label",
            "positive": ["a", "b"],
            "drop": [0, "name"],
            "encode": {"A": 1.0, "G": 2.5},
            "missing": "drop",
            "source": "file",
            "path": "some/file.csv.gz",
            "format": "csv",
            "header": True,
        },
        {
            "name": "open",
            "task": ["classification"],
            "rows": 60,
            "scale": "none",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "target": "",
            "positive": ["1"],
            "drop": [],
            "encode": "onehot",
            "missing": "error",
            "source": "openml",
            "id": 61,
        },
        {
            "name": "flowers",
            "task": ["classification"],
            "rows": 70,
            "scale": "minmax",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "source": "sklearn",
            "id": "iris",
            "positive": ["setosa"],
        },
        {
            "name": "made",
            "task": ["regression"],
            "rows": 80,
            "scale": "none",
            "kernels": [{"family": "gaussian", "log2_gamma": [0, 1]}],
            "source": "synthetic",
            "features": 6,
            "noise": 0.5,
        },
        {
            "name": "words",
            "task": ["classification"],
            "rows": 90,
            "kernels": [{"family": "rank-one", "features": "unigrams", "top": 30}],
            "path": "words.txt.gz",
            "missing": "drop",
            "source": "text",
            "positive": ["ham"],
        },
        {
            "name": "reviews",
            "task": ["regression", "classification"],
            "rows": 40,
            "kernels": [{"family": "rank-one", "features": "bigrams", "top": 20}],
            "path": "sentiment",
            "missing": "error",
            "source": "sentiment",
            "domain": "books",
        },
    ],
}


def message(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(values, "sweep.toml")
    return str(caught.value)
