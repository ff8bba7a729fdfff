"""Options of csv files are read from the config or found in the file, and what was found is reported."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_pipeline.data.column_encoding import MISSING_WORDS
from kernel_pipeline.data.formats.delimited import MISSING_VALUES
from kernel_pipeline.data.sources.file import read_frame
from kernel_pipeline.errors import DataError
from tests.helpers.build import FEATURES, LABELS, ROWS, dense, file_dataset, load, put, refused

HEADED = "u,v,label\n" + ROWS
HEADER_NOTE = "the first line of things.csv is read as the names of the columns, since it has text above numbers"


def read(folder: Path, content: str | bytes, name: str = "things.csv", **dataset: Any) -> pd.DataFrame:
    return read_frame(put(folder, content, name), file_dataset(**dataset))[0]


@pytest.mark.parametrize("name", ["things.csv", "things.csv.gz"])
@pytest.mark.parametrize("format_", ["csv", "table"])
def test_a_header_above_numbers_is_found_and_reported(format_: str, name: str, tmp_path: Path) -> None:
    put(tmp_path, HEADED if format_ == "csv" else HEADED.replace(",", "  "), name)
    samples = load(tmp_path, path=name, format=format_)
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order])
    assert any(note.startswith(HEADER_NOTE.replace("things.csv", name)) for note in samples.notes)


@pytest.mark.parametrize("dataset", [{"header": True}, {"target": "label"}, {"drop": ["u"]}, {"index": "u"}])
def test_a_header_that_follows_from_the_config_is_not_reported(dataset: dict[str, Any], tmp_path: Path) -> None:
    put(tmp_path, HEADED)
    assert not any("first line" in note for note in load(tmp_path, **dataset).notes)


@pytest.mark.parametrize(
    "content",
    [
        ROWS,
        "x,y,a\n" + ROWS.replace(",", ",w").replace("\n", "\nw")[:-1],  # text in every row
        "u,1,label\n" + ROWS,  # a number in the first line
        "?,?,?\n" + ROWS,
        "u,v,label\n",
    ],
    ids=["numbers", "only text", "a number above", "gaps", "one line"],
)
def test_a_first_line_that_is_a_sample(content: str, tmp_path: Path) -> None:
    assert list(map(str, read(tmp_path, content).columns)) == ["0", "1", "2"]


SAMPLE_NOTE = (
    "the first line of things.csv is read as a sample; set header = true if it contains the names of the columns"
)


@pytest.mark.parametrize(
    ("content", "is_noted"),
    [
        ("col,y\n" + "r,u\nb,v\n" * 15, True),
        ("col,y\n" + ",u\nb,v\n" * 15, True),  # with gaps
        ("col,y\n" + "".join(f"the text {i},{'uv'[i % 2]}\n" for i in range(9)), True),  # one column is repeated
        ("r,v\n" + "r,u\nb,v\n" * 15, False),  # both texts occur below
        ("r,y\n" + "r,u\nb,v\n" * 15, False),  # one of them does
        ("x,a\n" + "".join(f"t{i},w{i}\n" for i in range(9)), False),  # no text occurs twice
        (ROWS, False),
        ("?,?\n" + "r,u\nb,v\n" * 15, False),
    ],
)
def test_a_first_line_that_may_be_a_header_above_text_is_reported(content: str, is_noted: bool, tmp_path: Path) -> None:
    file = put(tmp_path, content)
    frame, notes = read_frame(file, file_dataset())
    assert len(frame) == content.count("\n")
    assert (notes == (SAMPLE_NOTE,)) == is_noted
    for header in (True, False):
        assert read_frame(file, file_dataset(header=header))[1] == ()


def test_a_sample_that_may_be_a_header_is_noted_in_the_run(tmp_path: Path) -> None:
    put(tmp_path, "col,y\n" + "r,u\nb,v\n" * 15)
    samples = load(tmp_path, encode="onehot", positive=["u"])
    assert SAMPLE_NOTE in samples.notes
    assert len(samples.order) == 31


def test_gaps_and_words_for_them_do_not_hide_a_header(tmp_path: Path) -> None:
    assert read(tmp_path, ",v,label\n1,N/A,a\n2,None,b\n3,4,a\n").columns.tolist() == ["Unnamed: 0", "v", "label"]


def test_a_header_above_decimal_commas_and_beside_a_column_of_gaps(tmp_path: Path) -> None:
    assert read(tmp_path, "u;v;label\n1,5;;a\n2,5;;b\n").columns.tolist() == ["u", "v", "label"]


def test_header_false_reads_the_first_line_as_a_sample(tmp_path: Path) -> None:
    assert len(read(tmp_path, HEADED, header=False)) == 10


def test_header_is_suggested_if_the_first_line_mixes_names_and_numbers(tmp_path: Path) -> None:
    text = refused(tmp_path, "u,2019,label\n" + ROWS)
    assert "'u' in data row 1. If the first line contains the names" in text
    assert "set header = true" in text


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
@pytest.mark.parametrize("given_", [True, False])
def test_separators_are_given_or_found(separator: str, given_: bool, tmp_path: Path) -> None:
    put(tmp_path, HEADED.replace(",", separator))
    samples = load(tmp_path, separator=separator if given_ else None)
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])
    reported = [note for note in samples.notes if "separated by" in note]
    assert len(reported) == (not given_ and separator != ",")
    assert all(repr(separator) in note for note in reported)


def test_a_separator_inside_quotes_is_ignored(tmp_path: Path) -> None:
    assert read(tmp_path, '"u,v;w";x\n1;2\n').columns.tolist() == ["u,v;w", "x"]


def test_a_comma_takes_precedence_over_other_separators(tmp_path: Path) -> None:
    assert read(tmp_path, "1;5,2\n3;5,4\n").shape == (2, 2)
    assert read(tmp_path, "1;5,2\n3;5,4\n", separator=";").shape == (2, 2)


@settings(deadline=None)
@given(
    numbers=st.lists(st.tuples(*[st.floats(-1e9, 1e9)] * 3), min_size=1, max_size=20),
    separator=st.sampled_from([";", "\t", "|"]),
)
def test_decimal_commas_are_read_as_python_writes_them(
    numbers: list[tuple[float, ...]], separator: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("decimal")
    lines = [separator.join(repr(float(value)).replace(".", ",") for value in row) for row in numbers]
    frame = read(folder, "a;b;c\n".replace(";", separator) + "\n".join(lines) + "\n", decimal=",")
    np.testing.assert_allclose(frame.to_numpy(np.float64), np.array(numbers), rtol=1e-14)


def test_decimal_commas_in_a_table_and_a_hint_if_decimal_is_not_set(tmp_path: Path) -> None:
    assert read(tmp_path, "1,5 2,5\n3,5 4\n", format="table", decimal=",").to_numpy().tolist() == [[1.5, 2.5], [3.5, 4]]
    rows = "".join(f"{i},5;{2 * i % 5};{'ab'[i % 2]}\n" for i in range(9))
    assert "set decimal = ','" in refused(tmp_path, "u;v;label\n" + rows)
    assert dense(load(tmp_path, decimal=",")).min() == 0.0


@pytest.mark.parametrize("others", ["2,5", "1.500", "7"])
def test_points_beside_decimal_commas_are_refused_since_they_may_separate_thousands(
    others: str, tmp_path: Path
) -> None:
    rows = "".join(f"{i};{others if i else '1.104'};{'ab'[i % 2]}\n" for i in range(9))
    text = refused(tmp_path, "u;v;label\n" + rows, decimal=",")
    assert "column 'v' contains '1.104' in data row 1, but decimal = ','" in text
    assert "If points separate thousands, remove them from the file" in text
    assert load(tmp_path, decimal=",", drop=["v"]).features.shape[1] == 1


def test_thousands_separators_are_named(tmp_path: Path) -> None:
    rows = "".join(f"{i};1.{i}04,33;{i % 2}\n" for i in range(9))
    for target in ("label", "v"):
        text = refused(tmp_path, "u;v;label\n" + rows, decimal=",", target=target, task="regression")
        assert "Remove the thousands separators" in text


@pytest.mark.parametrize("encode", [None, "onehot"])
@pytest.mark.parametrize(
    "cells", [["1,234.5", "2,999.0"], ["1,234", "12,345,678"], ["1,234", "1,234.5", "950.2", "7"]], ids=str
)
def test_thousands_commas_are_not_categories(encode: str | None, cells: list[str], tmp_path: Path) -> None:
    rows = "".join(f'{i},"{cells[i % len(cells)]}",{"ab"[i % 2]}\n' for i in range(12))
    text = refused(tmp_path, "u,v,label\n" + rows, encode=encode)
    assert f"column 'v' contains text: '{cells[0]}' in data row 1. Remove the thousands separators in 'v'" in text
    assert "If it is text, set categorical = ['v']" in text
    assert load(tmp_path, encode=encode, categorical=["v"]).features.shape == (12, 1 + len(cells))


def test_a_comma_that_may_be_a_decimal_comma_or_separate_thousands(tmp_path: Path) -> None:
    rows = "".join(f'{i},"1,{100 + i}",{"ab"[i % 2]}\n' for i in range(9))
    text = refused(tmp_path, "u,v,label\n" + rows, encode="onehot")
    assert "set decimal = ','. If it separates thousands, remove it from the file. Otherwise" in text
    assert "thousands" not in refused(tmp_path, "u,v,label\n" + rows.replace('"1,', '"0,'), encode="onehot")


def test_a_decimal_comma_that_also_separates(tmp_path: Path) -> None:
    assert "decimal = ',' is also the separator of the columns; set separator" in refused(tmp_path, ROWS, decimal=",")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "utf-8"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    content = "größe,v,label\n" + ROWS
    frame = read(tmp_path, content.encode(encoding), **{"encoding": encoding} if encoding != "utf-8" else {})
    assert frame.columns[0] == "größe"


@pytest.mark.parametrize("content", [HEADED, ROWS], ids=["header", "numbers"])
def test_a_byte_order_mark_is_not_part_of_the_first_cell(content: str, tmp_path: Path) -> None:
    frame = read(tmp_path, content.encode("utf-8-sig"))
    assert frame.columns[0] in (0, "u")
    assert pd.api.types.is_numeric_dtype(frame.iloc[:, 0])


def test_another_encoding_is_named_with_the_key_to_set(tmp_path: Path) -> None:
    put(tmp_path, HEADED.replace("u", "ü").encode("latin-1"))
    with pytest.raises(DataError, match=r"its encoding is not 'utf-8' .* encoding = 'latin-1'"):
        load(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "UTF16", "utf_16"])
def test_the_encodings_that_are_proposed_differ_from_the_given_one(encoding: str, tmp_path: Path) -> None:
    text = refused(tmp_path, HEADED, encoding=encoding)
    assert f"its encoding is not {encoding!r}" in text
    assert text.endswith("such as encoding = 'utf-8' or encoding = 'latin-1'")


@pytest.mark.parametrize("dataset", [{}, {"header": True}, {"target": "label"}])
def test_names_must_be_distinct(dataset: dict[str, Any], tmp_path: Path) -> None:
    text = refused(tmp_path, "u,u,label\n" + ROWS, **dataset)
    assert "the name 'u' 2 times; names of columns must be distinct" in text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"u,v,label\n{ROWS}1,2,3,a\n", ["line 11 has 4 fields", "at most 3. Correct the line", "separator ','"]),
        ("u,label\n" + ROWS, ["line 2 has 3 fields", "at most 2. Correct one of these lines"]),
        (f'u,v,label\n{ROWS}1,"2,a\n', ["a double quote in line 11 or below is not closed"]),
        ("", ["the file is empty. Save the table again"]),
        ("\n\n", ["the file is empty. Save the table again"]),
    ],
    ids=["more fields", "fewer names", "open quote", "empty", "blank lines"],
)
def test_broken_files_are_described_with_the_line_and_a_correction(
    content: str, words: list[str], tmp_path: Path
) -> None:
    text = refused(tmp_path, content)
    for word in ("cannot read", *words):
        assert word in text
    assert "C error" not in text


def test_a_broken_table_separated_by_whitespace(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS.replace(",", " ") + "1 2 3 a\n", format="table")
    assert "line 10 has 4 fields" in text
    assert "text that contains spaces" in text


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_words_for_missing_values(word: str, tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + f"1,{word},a\n")
    found = "is empty" if word in MISSING_VALUES else f"has no value (found {word!r})"
    assert f"column 1 {found} in data row 10; this is the case in 1 of 10 rows" in text
    assert load(tmp_path, missing="drop").left_out == 1


def test_the_missing_words_are_those_of_pandas(tmp_path: Path) -> None:
    """Check that pandas reads each of these words as missing too, except the question mark of UCI and Weka."""
    path = tmp_path / "words.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["1", word] for word in sorted(MISSING_WORDS - {"?"})])
    assert pd.read_csv(path, header=None)[1].isna().all()


def test_a_class_may_be_called_none_and_codes_take_precedence_over_missing_words(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{['None', 'some'][i % 2]},{['None', 'N/A'][i % 2]}\n" for i in range(9)))
    samples = load(tmp_path, encode={"None": 0, "some": 1})
    np.testing.assert_array_equal(samples.features[:, 1], samples.order % 2)
    assert set(samples.targets["classification"]) == {-1.0, 1.0}
