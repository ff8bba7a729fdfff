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


def with_source(model: FittedModel, **keys: Any) -> FittedModel:
    """Return the model, after changing keys for reading files in its source."""
    model.facts = replace(model.facts, source={**model.facts.source, **keys})
    return model


def test_a_point_among_decimal_commas_cannot_be_dropped(model: FittedModel, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age;sex;pressure;smoker\n" + "50,5;f;1,5;no\n" * 8 + "41,5;m;1.130;no\n")
    with pytest.raises(kp.DataError, match=r"column 'pressure' contains '1\.130' in data row 9") as caught:
        read_rows(with_source(model, decimal=","), tmp_path / "new.csv")
    assert "drop" not in str(caught.value)


UNREADABLE = {
    "empty": (b"", "the file is empty. Save the table again."),
    "repeated names": (b"age,age,pressure,smoker\n50,f,130,no\n", "must be distinct. Rename one in the file."),
    "uneven": (b"age,sex,pressure,smoker\n50,f,130,no\n5,f,1,no,7\n", "must be in double quotes."),
    "open quote": (b'age,sex,pressure,smoker\n50,"f,130,no\n', "cannot read"),
    "parquet": (b"PAR1\x15\x04\xff", "it is a parquet file; give it the extension .parquet."),
    "workbook": (b"PK\x03\x04\x14", "it is an Excel workbook (xlsx) or another zip archive; save it as csv."),
}


@pytest.mark.parametrize("case", list(UNREADABLE))
def test_messages_about_the_file_propose_no_change_of_a_config(model: FittedModel, tmp_path: Path, case: str) -> None:
    content, message = UNREADABLE[case]
    (tmp_path / "new.csv").write_bytes(content)
    with pytest.raises(kp.DataError) as caught:
        read_rows(model, tmp_path / "new.csv")
    assert message in str(caught.value)
    for word in ("dataset 'new.csv'", "set path", "set header", "set separator", "set format"):
        assert word not in str(caught.value)


def test_a_damaged_file_of_another_format(model: FittedModel, tmp_path: Path) -> None:
    (tmp_path / "new.parquet").write_bytes(b"text")
    with pytest.raises(kp.DataError, match=r"Save the file again, or give it the extension of its format\."):
        read_rows(model, tmp_path / "new.parquet")


def test_columns_that_only_decimal_commas_separate(model: FittedModel, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("age,sex,pressure,smoker\n50,f,130,no\n")
    with pytest.raises(kp.DataError, match="Separate the columns by another character, such as ';'"):
        read_rows(with_source(model, decimal=","), tmp_path / "new.csv")


@pytest.mark.parametrize("index", ["patient", 0, -6, True])
def test_the_index_of_the_source_is_found(model: FittedModel, tmp_path: Path, index: str | int | bool) -> None:
    table = pd.DataFrame({"age": [50], "sex": "f", "pressure": 130, "smoker": "no", "patient": "p9"})
    table.to_csv(tmp_path / "new.csv", index=False)
    found = read_rows(with_source(model, index=index), tmp_path / "new.csv").index
    assert found is not None
    assert list(found) == ["p9"]


@pytest.mark.parametrize("index", [None, False])
def test_a_source_without_an_index(model: FittedModel, tmp_path: Path, index: bool | None) -> None:
    pd.DataFrame({"age": [50], "sex": "f", "pressure": 130, "smoker": "no"}).to_csv(tmp_path / "new.csv", index=False)
    assert read_rows(with_source(model, index=index), tmp_path / "new.csv").index is None


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
