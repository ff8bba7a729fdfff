"""`metric` in `[fit]` chooses the regularisation value, and is the error of the tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.plan.plan import make_plan
from tests.helpers.sweeps import SMALL, resume_here, run_here, small_config

FLOWERS = [SMALL["dataset"][1] | {"rows": 60, "positive": ["versicolor"]}]


def run(root: Path, **fit: Any) -> pd.DataFrame:
    config = small_config(
        methods=["unif", "each-kernel", "l2-krr", "l1-svm"],
        fit=SMALL["fit"] | {"l1-svm": {"from": 2, "to": 2}, "l2-krr": {"from": 4, "to": 4}} | fit,
        dataset=FLOWERS,
    )
    run_here(root, config)
    code, said = resume_here(root)
    assert code == 0
    assert ("Classification: 1 - AUC" in said) == (fit.get("metric") == "auc")
    return pd.read_csv(root / "results/rows.csv")


def test_auc_chooses_the_value_and_is_the_error(tmp_path: Path) -> None:
    by_auc, by_default = run(tmp_path / "auc", metric="auc"), run(tmp_path / "default")
    of_classes = by_auc["task"] == "classification"
    assert (by_auc.loc[of_classes, "metric"] == "auc").all()
    np.testing.assert_allclose(by_auc["error"][of_classes], 1 - by_auc["auc"][of_classes], rtol=1e-12, atol=1e-15)
    # Results of the regression are unchanged.
    pd.testing.assert_frame_equal(by_auc[~of_classes], by_default[~of_classes])
    path = pd.read_csv(tmp_path / "auc/results/path.csv")
    for row in by_auc[of_classes].to_dict("records"):
        cell = path.loc[(path[["task", "method", "trial"]] == [row["task"], row["method"], row["trial"]]).all(axis=1)]
        best = cell.sort_values("validation_error", kind="stable").iloc[0]  # of equal errors, the most regularised
        assert (best["regularisation"], best["test_error"]) == (row["regularisation"], row["error"])
    assert not by_auc["regularisation"].equals(by_default["regularisation"])


def test_r2_has_no_unit_and_no_bound_on_the_squared_error(tmp_path: Path) -> None:
    """Labels of size 1e-80 are scaled before the fit; R2 is not scaled back, and MAE is."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(45, 2))
    target = 1e-80 * (features[:, 0] + 0.3 * rng.normal(size=45))
    np.savez(tmp_path / "data.npz", features=features, target=target)
    dataset = {"name": "tiny", "task": "regression", "source": "file", "path": "data.npz", "format": "npz"}
    dataset |= {"kernels": [{"family": "gaussian", "log2_gamma": [-3, -1]}]}  # type: ignore[dict-item]
    for metric, size in (("r2", 1.0), ("mae", 1e-80)):
        values = {
            "name": "tiny",
            "baselines": False,
            "methods": ["unif"],
            "fit": {"metric": metric},
            "dataset": [dataset],
        }
        root = tmp_path / metric
        root.mkdir()
        (root / "data.npz").write_bytes((tmp_path / "data.npz").read_bytes())
        run_here(root, parse_config(values, "a test"))
        assert resume_here(root)[0] == 0
        rows = pd.read_csv(root / "results/rows.csv")
        assert (rows["error"] / size).between(0.01, 2).all()
        expected = 1 - rows["r2"] if metric == "r2" else rows["mae"]
        np.testing.assert_allclose(rows["error"], expected, rtol=1e-12)
        predicted = pd.read_parquet(root / "results/predictions.parquet").query("role == 'test'")
        mae = (predicted["true"] - predicted["prediction"]).abs().groupby(predicted["trial"]).mean()
        np.testing.assert_allclose(rows["mae"], mae, rtol=1e-12)
        assert pd.read_csv(root / "results/bounds.csv")["theorem17_evaluated"].isna().all()


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("acu", "there is no metric 'acu'. Available: rmse, misclassification, .* Did you mean 'auc'"),
        ("log_loss", "'log_loss' requires predicted probabilities, which no method provides; choose another metric"),
        ("mae", "fit.metric = 'mae' is for regression, but the datasets have only the task classification"),
    ],
)
def test_a_wrong_metric_is_refused(metric: str, message: str) -> None:
    dataset = {
        "name": "a",
        "source": "sklearn",
        "id": "iris",
        "task": "classification",
        "kernels": [{"family": "linear"}],
    }
    values = {"name": "wrong", "baselines": False, "methods": ["unif"], "fit": {"metric": metric}, "dataset": [dataset]}
    with pytest.raises(ConfigError, match=message):
        parse_config(values, "a test")


def test_auc_is_refused_for_more_than_two_classes(tmp_path: Path) -> None:
    dataset = {
        "name": "a",
        "source": "sklearn",
        "id": "iris",
        "task": "classification",
        "kernels": [{"family": "linear"}],
    }
    config = parse_config(
        {"name": "wrong", "baselines": False, "methods": ["unif"], "fit": {"metric": "auc"}, "dataset": [dataset]},
        "a test",
    )
    samples = prepare_dataset(config, config.dataset[0], tmp_path)
    with pytest.raises(
        ConfigError, match=r"'auc' supports only two classes, but dataset 'a' has 3. Choose one of misclass"
    ):
        make_plan(config, [samples.info])
