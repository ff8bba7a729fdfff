"""Predictions for no rows are empty, with the shape and types of other predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.models.model import FittedModel
from tests.pipeline.models.example_run import DATASETS
from tests.pipeline.models.test_against_sweep import raw_rows


def check_empty(model: FittedModel, rows: Any, some: Any) -> None:
    """Compare all results for no rows with those for some rows."""
    methods = ["predict", "values", *(["decision_function"] if model.facts.task == "classification" else [])]
    for method in methods:
        found, expected = getattr(model, method)(rows), getattr(model, method)(some)
        assert found.shape == (0, *expected.shape[1:])
        assert found.dtype == expected.dtype
    pd.testing.assert_frame_equal(model.table(rows), model.table(some).iloc[:0], check_index_type=False)


@pytest.mark.parametrize("dataset", [dataset["name"] for dataset in DATASETS])
@pytest.mark.parametrize("trial", [None, 0])
def test_no_rows_have_no_predictions(root: Path, dataset: str, trial: int | None) -> None:
    model = kp.open_run(root).model(dataset, "alignf", trial=trial)
    rows = raw_rows(root, dataset)
    check_empty(model, rows.iloc[:0], rows)
    features = np.empty((0, len(model.facts.features)))
    assert model.predict_features(features).shape[0] == 0


@pytest.mark.parametrize("dataset", ["reviews", "opinions"])
@pytest.mark.parametrize("trial", [None, 0])
def test_an_empty_list_of_documents(root: Path, dataset: str, trial: int | None) -> None:
    model = kp.open_run(root).model(dataset, "alignf", trial=trial)
    check_empty(model, [], ["a good story", "a poor plot"])


@pytest.mark.parametrize("dataset", ["wines", "body", "clinic", "columns", "opinions"])
def test_a_file_with_only_a_header(root: Path, tmp_path: Path, dataset: str) -> None:
    model = kp.open_run(root).model(dataset, "alignf")
    model.save(tmp_path / "model.skops")
    raw_rows(root, dataset).iloc[:0].to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", str(tmp_path / "model.skops"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "out.csv")]
    result = CliRunner().invoke(main, command)
    assert (result.exit_code, result.stderr) == (0, "")
    rows = raw_rows(root, dataset)
    header = ["row", *(["patient"] if "patient" in rows else []), *model.table(rows)]
    assert (tmp_path / "out.csv").read_text() == ",".join(header) + "\n"
