"""Predictions from features, for which no row of the source is needed, equal those from raw rows."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import kernel_pipeline as kp
from tests.pipeline.models.example_run import DATASETS
from tests.pipeline.models.test_against_sweep import raw_rows


@pytest.mark.parametrize("dataset", [dataset["name"] for dataset in DATASETS])
def test_predictions_from_features_are_those_from_raw_rows(root: Path, dataset: str) -> None:
    model = kp.open_run(root).model(dataset, "alignf")
    rows: Any = raw_rows(root, dataset)
    if dataset == "sparse":
        rows = scipy.sparse.csr_array(rows.to_numpy())
    encoded = model.encode(rows)
    assert encoded.usable.all()
    assert encoded.features.shape[1] == len(model.facts.features)
    np.testing.assert_array_equal(model.predict_features(encoded.features), model.predict(rows))


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist])
def test_columns_of_numbers_without_missing_values_are_the_features(root: Path, form: Any) -> None:
    model = kp.open_run(root).model("wave", "alignf")
    rows = raw_rows(root, "wave")
    predicted = model.predict_features(form(rows.to_numpy()))
    assert np.ptp(predicted) > 1.0
    np.testing.assert_array_equal(predicted, model.predict(rows))


def test_a_model_whose_source_does_not_support_new_rows_predicts_from_features(root: Path) -> None:
    model = kp.open_run(root).model("reviews", "alignf")
    rows = raw_rows(root, "reviews")
    expected, features = model.predict(rows), model.encode(rows).features
    model.encoder = None  # as for the source `sentiment`
    with pytest.raises(kp.DataError, match="does not support new rows; use predict_features"):
        model.predict(rows)
    assert model.predict_features(features).tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [(3, 9), (10,), (3, 11)])
def test_features_of_another_shape_are_refused(root: Path, shape: tuple[int, ...]) -> None:
    model = kp.open_run(root).model("wave", "alignf")
    with pytest.raises(kp.DataError, match=r"features: must have 10 columns, those of facts\.features; got shape"):
        model.predict_features(np.zeros(shape))
