"""Predictions for documents: missing ones, ones without known words, and none at all."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.models.model import FittedModel

TEXT_DATASETS = ("reviews", "opinions")
MISSING = [None, float("nan"), pd.NA, "", "  "]


def text_model(root: Path, dataset: str, missing: str) -> FittedModel:
    """Return a model of documents with a value of `missing`."""
    model = kp.open_run(root).model(dataset, "alignf")
    model.facts = replace(model.facts, source={**model.facts.source, "missing": missing})
    return model


def predict_file(model: FittedModel, folder: Path, name: str, content: str) -> Result:
    model.save(folder / "model.skops")
    (folder / name).write_text(content)
    return CliRunner().invoke(main, ["predict", str(folder / "model.skops"), str(folder / name)])


@pytest.mark.parametrize("dataset", TEXT_DATASETS)
@pytest.mark.parametrize("cell", MISSING)
def test_missing_documents_have_no_prediction_with_drop(root: Path, dataset: str, cell: Any) -> None:
    model = text_model(root, dataset, "drop")
    label = model.predict(["a good story"])[0]
    assert model.predict([cell, "a good story"]).tolist() == [None, label]
    assert np.isnan(model.decision_function([cell, "a good story"])).tolist() == [True, False]
    assert model.predict([cell]).tolist() == [None]
    rows = pd.DataFrame({"said": ["a good story", cell]}, index=[7, 9])
    assert model.predict(rows).tolist() == [label, None]
    assert model.predict(rows.iloc[1:]).tolist() == [None]


@pytest.mark.parametrize("dataset", TEXT_DATASETS)
@pytest.mark.parametrize("cell", MISSING)
def test_missing_documents_are_an_error_with_error(root: Path, dataset: str, cell: Any) -> None:
    model = text_model(root, dataset, "error")
    message = (
        r"missing or blank in row 2 of the new rows \(counted from 1\); this is the case in 1 of 2 rows.*"
        "missing = 'error': write a document, or leave these rows out"
    )
    with pytest.raises(kp.DataError, match=message):
        model.predict(["a good story", cell])
    with pytest.raises(kp.DataError, match=message):
        model.predict(pd.DataFrame({"said": ["a good story", cell]}, index=[7, 9]))
    with pytest.raises(kp.DataError, match=r"in rows 1, 3, 4, .* 12 of 13 rows"):
        model.predict([cell, "a good story", *[cell] * 11])


def test_documents_of_unknown_words_have_a_prediction_and_a_note(root: Path) -> None:
    model = text_model(root, "reviews", "drop")
    encoded = model.encode(["zebra", None, "a good story", "?!", ""])
    assert encoded.notes == ("2 of 3 documents contain no word that the model knows",)
    assert encoded.usable.tolist() == [True, False, True, True, False]
    assert all(model.predict(["zebra", "?!"]))
    assert model.encode([None, "a good story"]).notes == ()
    assert all(text_model(root, "reviews", "error").predict(["zebra", "?!"]))


def test_files_with_missing_documents(root: Path, tmp_path: Path) -> None:
    table = "said,by\na good story,me\n,you\n"
    for dataset, name, content in (("opinions", "new.csv", table), ("reviews", "new.txt", "a good story\n\n")):
        result = predict_file(text_model(root, dataset, "drop"), tmp_path, name, content)
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("note: 1 of 2 rows have no prediction: they have missing values")
        assert pd.read_csv(io.StringIO(result.stdout))["prediction"].isna().tolist() == [False, True]
        result = predict_file(text_model(root, dataset, "error"), tmp_path, name, content)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "the document is missing or blank in row 2 of the new rows" in result.stderr


@pytest.mark.parametrize("dataset", TEXT_DATASETS)
def test_one_string_is_not_a_list_of_documents(root: Path, dataset: str) -> None:
    model = kp.open_run(root).model(dataset, "alignf")
    message = r'the new rows are one string; a list of documents is required: predict\(\["a good story"\]\)'
    for method in (model.predict, model.decision_function, model.table):
        with pytest.raises(kp.DataError, match=message):
            method("a good story")
    with pytest.raises(kp.DataError, match=r'predict\(\["word word [word ]*\.\.\."\]\)$'):
        model.predict("word " * 1000)
