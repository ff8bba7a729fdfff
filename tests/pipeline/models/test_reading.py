"""Messages about files of new rows name what can be changed: the file, but not the config of the model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from kernel_pipeline.models.model import FittedModel
from kernel_pipeline.models.reading import read_rows


@pytest.fixture
def model(root: Path) -> FittedModel:
    return kp.open_run(root).model("clinic", "alignf")


def with_source(model: FittedModel, **keys: str) -> FittedModel:
    """Return the model, after changing keys for reading files in its source."""
    model.facts = replace(model.facts, source={**model.facts.source, **keys})
    return model


def test_a_point_among_decimal_commas_cannot_be_dropped(model: FittedModel, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age;sex;pressure;smoker\n" + "50,5;f;1,5;no\n" * 8 + "41,5;m;1.130;no\n")
    with pytest.raises(kp.DataError, match=r"column 'pressure' contains '1\.130' in data row 9") as caught:
        read_rows(with_source(model, decimal=","), tmp_path / "new.csv")
    assert "drop" not in str(caught.value)


def test_an_encoding_that_cannot_be_read(model: FittedModel, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_bytes("age,sex,pressure,smoker\n50,é,130,no\n".encode("latin-1"))
    with pytest.raises(kp.DataError, match=r"its encoding is not 'utf-8'.* Save the file with the encoding 'utf-8'"):
        read_rows(model, tmp_path / "new.csv")


def test_names_that_are_decoded_incorrectly(model: FittedModel, tmp_path: Path) -> None:
    pd.DataFrame({"âge": [50], "sex": "f", "pressure": 130, "smoker": "no"}).to_csv(tmp_path / "new.csv", index=False)
    hint = "suggests that the file has another encoding than 'latin-1'"
    with pytest.raises(kp.DataError, match="they lack 'age'") as caught:
        read_rows(model, tmp_path / "new.csv")
    assert "encoding" not in str(caught.value)
    with pytest.raises(kp.DataError, match=rf"they lack 'age' .*The name 'Ã¢ge' {hint}"):
        read_rows(with_source(model, encoding="latin-1"), tmp_path / "new.csv")


@pytest.mark.parametrize("rows", ["new.csv", Path("new.csv"), np.zeros((2, 2, 2))])
def test_predictions_for_something_else_than_rows(model: FittedModel, rows: Any) -> None:
    with pytest.raises(
        kp.DataError, match=r"must be a DataFrame or an array with one row per sample; got .*Read a file"
    ):
        model.predict(rows)
