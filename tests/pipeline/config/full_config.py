"""A config in which every field has a value, and a helper for messages about invalid configs."""

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
    "methods": [
        {"method": "align", "q": 1.5},
        *("unif", "align", "best-kernel", "l2-krr", "align-krr"),
        {"method": "alignf-plus", "upper": 0.25},
        {"method": "alignf-ridge", "ridge": 0.5},
    ],
    "baselines": False,
    "protocol": {"folds": 4, "repeats": 1, "permutations": 50},
    "fit": {
        "krr": {"from": -6, "to": 0, "step": 3},
        "svm": {"from": -2, "to": 2, "step": 1},
        "class_weight": "balanced",
        "metric": "auc",
        "refit": "train+validation",
        "memory": "3 GiB",
        "l1-svm": {"from": -3, "to": 3, "step": 1},
        "l2-krr": {"from": 0, "to": 12, "step": 4},
        "align-krr": {
            "gamma": {"from": -6, "to": 0, "step": 3},
            "gamma1": {"from": -8, "to": -2, "step": 6},
            "gamma2": {"from": -9, "to": 0, "step": 3},
        },
    },
    "storage": {"tile": 64, "gram": "keep", "keep_up_to": "5 GiB", "keep_combined": True, "url": "s3://bucket/prefix"},
    "dataset": [
        {
            "name": "file",
            "task": ["regression", "classification"],
            "rows": 50,
            "scale": "standard",
            "kernels": [
                {"family": "gaussian", "log2_gamma": [-3, 3]},
                {"family": "gaussian", "log2_gamma": [5, 5]},
                {"family": "gaussian", "gamma": [0.3, "median"]},
                {"family": "laplacian", "gamma": [0.5]},
                {"family": "matern", "nu": [0.5, 1.5], "length_scale": [3.0]},
                {"family": "rational-quadratic", "length_scale": [1.0], "alpha": [0.5, 2.0]},
                {"family": "linear"},
                {"family": "polynomial", "degree": [2, 3], "gamma": [0.1], "coef0": [0.0, 1.0]},
                {"family": "cosine"},
                {"family": "chi-squared", "gamma": [1.5]},
            ],
            "target": "label",
            "positive": ["a", "b"],
            "drop": [0, "name"],
            "index": "number",
            "groups": "patient",
            "encode": {"A": 1.0, "G": 2.5},
            "missing": "drop",
            "fit_on": "train",
            "source": "file",
            "path": "some/file.csv.gz",
            "format": "csv",
            "header": True,
            "separator": ";",
            "decimal": ",",
            "encoding": "latin-1",
            "test_path": "some/test.csv.gz",
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
            "folds": "part",
            "test": "held-out",
            "encode": "onehot",
            "categorical": ["ward", 3],
            "missing": "error",
            "missing_values": ["n.d.", -999.0],
            "source": "openml",
            "id": 61,
        },
        {
            "name": "flowers",
            "task": ["classification"],
            "rows": 70,
            "scale": "minmax",
            "kernels": [
                {"family": "gaussian", "log2_gamma": [0, 1]},
                {"family": "linear", "columns": ["petal*", 0, "1-2"], "each": "column", "name": "petals"},
                {"family": "precomputed", "path": "string.npy", "psd": "clip", "name": "string"},
            ],
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
            "counts": "tf-idf",
            "min_df": 0.01,
            "stop_words": ["the", "of"],
            "lowercase": False,
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
            "counts": "binary",
            "min_df": 3,
        },
        {
            "name": "opinions",
            "task": ["classification"],
            "kernels": [{"family": "rank-one", "features": ["unigrams", "bigrams"]}],
            "target": "stars",
            "source": "file",
            "path": "opinions.csv",
            "format": "csv",
            "text": "opinion",
            "stop_words": "english",
        },
    ],
}


def message(values: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_config(values, "sweep.toml")
    return str(caught.value)
