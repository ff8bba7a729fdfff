"""Encoders of new rows: the rows of the source become the features of the dataset, and others follow the same rules."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.new_rows import RowEncoder
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.errors import DataError

TABLE = pd.DataFrame(
    {
        "id": range(12),
        "size": [1.5, 2.5, -999.0, 4.0] * 3,
        "code": [1, 2, 3, 1] * 3,
        "colour": ["red", "blue", "red", None] * 3,
        "gene": ["AGC", "GGC", "AAA", "CGA"] * 3,
        "note": ["x", "", "7", "?"] * 3,
        "y": [0.0, 1.0, 2.0, 3.5] * 3,
    }
)
ONEHOT: dict[str, Any] = {"encode": "onehot", "drop": ["gene", "note"], "index": "id", "missing_values": [-999]}
VIEW = [{"family": "linear", "columns": ["size", "code"]}]
CASES: dict[str, dict[str, Any]] = {
    "onehot": ONEHOT | {"missing": "mean"},
    "categorical": ONEHOT | {"missing": "mean", "categorical": ["code"]},
    "drop": ONEHOT | {"missing": "drop"},
    "view": {"kernels": VIEW, "missing": "mean", "missing_values": [-999]},
    "letters": {"encode": {"A": 1, "G": 2, "C": 3}, "drop": ["colour", "note", "id"]},
    "columns": ONEHOT | {"missing": "mean", "kernels": [{"family": "rank-one", "columns": ["colour", "size"]}]},
}


def loaded(folder: Path, case: str) -> PreparedDataset:
    TABLE.to_csv(folder / "table.csv", index=False)
    dataset = {"name": "d", "task": "regression", "source": "file", "path": "table.csv", "format": "csv", "target": "y"}
    values = {"kernels": [{"family": "linear"}]} | dataset | CASES[case]
    config = parse_config({"name": "t", "methods": ["unif"], "protocol": {"folds": 3}, "dataset": [values]}, "a test")
    return prepare_dataset(config, config.dataset[0], folder)


@pytest.mark.parametrize("case", list(CASES))
def test_rows_of_the_source_become_the_features(tmp_path: Path, case: str) -> None:
    samples = loaded(tmp_path, case)
    assert samples.encoder is not None
    source = pd.read_csv(tmp_path / "table.csv")
    found = samples.encoder.encode(source)
    assert found.notes == ()
    assert np.flatnonzero(found.usable).tolist() == sorted(samples.order)
    features = np.asarray(found.features)
    if samples.steps is not None:
        features = samples.steps.apply(features)
    expected = samples.features_of(None)
    names = samples.columns.names if samples.columns else [""] * features.shape[1]
    is_used = [case != "view" or name in ("size", "code") for name in names]
    np.testing.assert_array_equal(features[samples.order][:, is_used], np.asarray(expected)[:, is_used])


def test_columns_that_no_kernel_uses_may_be_absent_or_wrong(tmp_path: Path) -> None:
    encoder = loaded(tmp_path, "view").encoder
    assert encoder is not None
    whole = encoder.encode(TABLE)
    np.testing.assert_array_equal(encoder.encode(TABLE[["code", "size"]]).features, whole.features)
    assert encoder.encode(TABLE.assign(colour=3, id="text")).usable.all()
    with pytest.raises(DataError, match="they lack 'size'"):
        encoder.encode(TABLE.drop(columns="size"))
    with pytest.raises(DataError, match="they have the unknown column 'more'"):
        encoder.encode(TABLE.assign(more=1))


def test_missing_values_of_the_config_are_gaps_of_new_rows(tmp_path: Path) -> None:
    encoder = loaded(tmp_path, "view").encoder
    assert encoder is not None
    assert np.isnan(np.asarray(encoder.encode(TABLE).features)).sum() == 3


def test_numbers_that_are_categories_may_be_text_in_new_rows(tmp_path: Path) -> None:
    samples = loaded(tmp_path, "categorical")
    assert samples.encoder is not None
    assert samples.columns is not None
    one = samples.encoder.encode(TABLE[["size", "code", "colour"]].head(3))
    two = samples.encoder.encode(TABLE[["size", "code", "colour"]].head(3).astype({"code": str}))
    np.testing.assert_array_equal(one.features, two.features)
    codes = [place for place, name in enumerate(samples.columns.names) if name.startswith("code_")]
    np.testing.assert_array_equal(np.asarray(one.features)[:, codes], np.eye(3))
    new = samples.encoder.encode(pd.DataFrame({"size": [1.0], "code": [9], "colour": ["red"]}))
    assert not np.asarray(new.features)[:, codes].any()
    assert new.notes[0].startswith(
        "column 'code' contains values that are not in the data that the model was fitted to, in 1 row: 9"
    )


def test_sequences_of_another_length_are_refused(tmp_path: Path) -> None:
    encoder = loaded(tmp_path, "letters").encoder
    assert encoder is not None
    with pytest.raises(DataError, match=r"contains 'AG' in row 2 of the new rows .*; sequences of 3 letters"):
        encoder.encode(TABLE.assign(gene=["AGC", "AG", *["AGC"] * 10]))


DISTANCES = {"distance": ["2,0", "2,5", "12 km"], "zone": ["1,5", "2,5", "1,5"]}


def with_commas(folder: Path, decimal: str) -> RowEncoder:
    comma = "".join(f"{row},{row % 10};{1 + row % 2},5;{row}\n" for row in range(12))
    (folder / "table.csv").write_text("distance;zone;y\n" + (comma if decimal == "," else comma.replace(",", ".")))
    dataset = {"name": "d", "task": "regression", "source": "file", "path": "table.csv", "format": "csv", "target": "y"}
    values = dataset | {"kernels": [{"family": "linear"}], "decimal": decimal, "separator": ";"}
    values["categorical"] = ["zone"]
    config = parse_config({"name": "t", "methods": ["unif"], "protocol": {"folds": 3}, "dataset": [values]}, "a test")
    encoder = prepare_dataset(config, config.dataset[0], folder).encoder
    assert encoder is not None
    return encoder


def test_texts_with_decimal_commas_are_numbers_if_the_source_has_them(tmp_path: Path) -> None:
    encoder, rows = with_commas(tmp_path, ","), pd.DataFrame(DISTANCES)
    found = encoder.encode(rows.head(2))
    assert found.notes == ()
    np.testing.assert_array_equal(found.features, [[2.0, 1.0, 0.0], [2.5, 0.0, 1.0]])
    np.testing.assert_array_equal(
        encoder.encode(pd.DataFrame({"distance": [2.0, 2.5], "zone": [1.5, 2.5]})).features, found.features
    )
    with pytest.raises(DataError, match=r"text '12 km' in row 3 of the new rows \(counted from 1\); .* Write a number"):
        encoder.encode(rows)


def test_a_decimal_comma_that_the_source_does_not_use_is_refused_with_a_remedy(tmp_path: Path) -> None:
    encoder = with_commas(tmp_path, ".")
    with pytest.raises(DataError, match=r"text '2,0' in row 1 of the new rows .* Write 2\.0 with a decimal point"):
        encoder.encode(pd.DataFrame(DISTANCES))
