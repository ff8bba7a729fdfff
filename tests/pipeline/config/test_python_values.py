"""Values of numpy, pandas and pathlib in dicts are equal to those of Python, or refused by the name of their key."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from tests.helpers.build import put

CONFIG: dict[str, Any] = {
    "name": "plain",
    "methods": ["unif", "align"],
    "baselines": False,
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -8, "to": 0, "step": 4}},
}
DATASET: dict[str, Any] = {
    "name": "things",
    "source": "file",
    "path": "things.csv",
    "format": "csv",
    "task": "regression",
    "target": "y",
    "drop": ["day"],
    "index": False,
    "kernels": [
        {"family": "gaussian", "gamma": [0.5, 2.0], "columns": [0, "u"]},
        {"family": "polynomial", "degree": 2},
    ],
}


@pytest.mark.parametrize(
    ("config", "dataset"),
    [
        ({"methods": np.array(["unif", "align"])}, {"drop": pd.Index(["day"])}),
        ({"methods": pd.Series(["unif", "align"])}, {"drop": pd.array(["day"], dtype="string"), "index": np.bool_(0)}),
        ({"methods": (np.str_("unif"), "align"), "baselines": np.bool_(False)}, {"path": Path("things.csv")}),
        ({"protocol": {"folds": np.int64(3)}, "fit": {"krr": {"from": np.float64(-8), "to": 0, "step": 4}}}, {}),
        ({}, {"kernels": ({**DATASET["kernels"][0], "gamma": np.array([0.5, 2.0])}, DATASET["kernels"][1])}),
        ({}, {"kernels": [DATASET["kernels"][0], {"family": np.str_("polynomial"), "degree": np.float64(2)}]}),
        ({}, {"kernels": [DATASET["kernels"][0] | {"columns": np.array([0, "u"], object)}, DATASET["kernels"][1]]}),
    ],
)
def test_a_config_of_other_values_equals_that_of_plain_values(
    config: dict[str, Any], dataset: dict[str, Any], tmp_path: Path
) -> None:
    plain = kp.read_config(CONFIG | {"dataset": [DATASET]})
    given = CONFIG | config | {"dataset": [DATASET | dataset]}
    assert kp.read_config(given) == plain
    assert kp.read_config(given | {"dataset": (DATASET | dataset,)}, {"dataset.things.rows": np.int64(7)}) == (
        kp.read_config(plain, {"dataset.things.rows": 7})
    )
    put(tmp_path, "u,v,day,y\n" + "".join(f"{i % 5},{i % 3},{i},{i * i % 7}\n" for i in range(30)))
    assert kp.plan(given, data_dir=tmp_path).disk_bytes == kp.plan(plain, data_dir=tmp_path).disk_bytes


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"rows": pd.NA}, "dataset[0] (things).rows: must be a valid integer; got <NA>"),
        ({"rows": np.float64(1.5)}, "dataset[0] (things).rows: must be a valid integer"),
        ({"rows": np.complex128(1)}, "dataset[0] (things).rows: must be a valid integer; got (1+0j)"),
        ({"drop": {"day"}}, "dataset[0] (things).drop: must be a list in brackets; got {'day'}"),
        ({"drop": np.array([["day"]])}, "dataset[0] (things).drop[0]: must be a valid integer, or a valid string"),
        (
            {"kernels": [{"family": "gaussian", "gamma": np.array([0.5, np.nan])}]},
            "dataset[0] (things).kernels[0].gamma[1]: must be a finite number, or 'median'; got nan",
        ),
    ],
)
def test_values_that_no_config_can_have_are_refused_by_the_name_of_their_key(
    value: dict[str, Any], message: str
) -> None:
    with pytest.raises(kp.ConfigError) as refused:
        kp.read_config(CONFIG | {"dataset": [DATASET | value]})
    assert message in str(refused.value)


def test_kernels_of_estimators_accept_the_same_values() -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    frame, y = pd.DataFrame(X, columns=["u", "v", "w"]), X[:, 0] + X[:, 1] ** 2
    plain: list[dict[str, Any]] = [
        {"family": "gaussian", "gamma": [0.5, 2.0], "columns": ["u", "v"]},
        {"family": "polynomial", "degree": 2},
    ]
    given: Any = (
        {"family": "gaussian", "gamma": np.array([0.5, 2]), "columns": frame.columns[:2]},
        {"family": "polynomial", "degree": np.int64(2)},
    )
    expected = kp.AlignedKernelRegressor(kernels=plain, alpha=0.1).fit(frame, y)
    found = kp.AlignedKernelRegressor(kernels=given, alpha=np.float64(0.1)).fit(frame, y)
    pd.testing.assert_series_equal(found.weights_, expected.weights_)
    np.testing.assert_array_equal(found.predict(frame), expected.predict(frame))
    with pytest.raises(ValueError, match=r"^kernels\[0\].degree\[0\]: must be a valid integer; got 1.5$"):
        kp.AlignedKernelRegressor(kernels=[{"family": "polynomial", "degree": np.array([1.5])}]).fit(frame, y)
