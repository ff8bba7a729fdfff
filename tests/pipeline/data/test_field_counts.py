"""The separator of csv files is found in their first lines, and rows that are too short are refused."""

from pathlib import Path

import pytest

from kernel_pipeline.data.sources.file import read_frame
from tests.helpers.build import file_dataset, load, put, refused
from tests.pipeline.data.test_delimited import read


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_header_with_commas_and_another_separator(separator: str, tmp_path: Path) -> None:
    content = "Nr.;Kosten, netto [EUR];x\n1;5,2;3\n2;5;4\n".replace(";", separator)
    names = ["Nr.", "Kosten, netto [EUR]", "x"]
    assert read(tmp_path, content, decimal=",").columns.tolist() == names
    _, notes = read_frame(put(tmp_path, content), file_dataset(header=True))
    assert read(tmp_path, content, header=True).columns.tolist() == names
    assert notes == (
        f"the columns of things.csv are read as separated by {separator!r}, since this gives the same number of fields "
        "in its first lines; set separator to change this",
    )


def test_spaces_may_separate_numbers_with_decimal_commas(tmp_path: Path) -> None:
    frame, notes = read_frame(put(tmp_path, "u  v\n1,5 2\n3  4,5\n"), file_dataset(decimal=","))
    assert frame.to_numpy().tolist() == [[1.5, 2], [3, 4.5]]
    assert "separated by spaces, since decimal = ','" in notes[0]


def test_a_comma_separates_if_the_other_mark_is_in_some_lines_only(tmp_path: Path) -> None:
    assert read(tmp_path, "u;w,v\n1;2,3\n4,5\n", header=True).columns.tolist() == ["u;w", "v"]
    assert read(tmp_path, "u,v;w\n" + "1,2;3\n" * 30 + "4,5;6\n", header=True).columns.tolist() == ["u", "v;w"]


@pytest.mark.parametrize("missing", ["error", "drop", "mean"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_rows_with_fewer_fields_than_columns_are_refused(separator: str, missing: str, tmp_path: Path) -> None:
    rows = [f'{"" if i == 3 else i},"a,\n\nb;\t",{i * i},{"ab"[i % 2]}\n' for i in range(12)]
    content = "u,text,v,label\n" + "".join(rows[:6]) + "6,x\n\n" + "".join(rows[6:]) + "7\n"
    text = refused(tmp_path, content.replace(",", separator), encode="onehot", missing=missing, separator=separator)
    assert "data row 7 has 2 fields, but there are 4 columns; this is the case in 2 of 14 rows" in text
    assert "Correct the file: empty cells need their separators" in text


def test_short_rows_of_a_table_separated_by_whitespace(tmp_path: Path) -> None:
    text = refused(tmp_path, "1 2 a\n  3  'x y'\n5 6 b\n".replace("'x y'", '"x y"'), format="table")
    assert "data row 2 has 2 fields, but there are 3 columns; this is the case in 1 of 3 rows" in text
    assert "write ? for an empty cell" in text


def test_empty_cells_at_the_end_of_a_row_are_not_short(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i * i},{'ab'[i % 2]}\n" for i in range(9))
    put(tmp_path, "u,v,label\n" + rows + "1,2,\n,,\n1,2,?\n")
    assert load(tmp_path, missing="drop").left_out == 3


def test_a_last_column_that_is_dropped_may_be_absent(tmp_path: Path) -> None:
    put(tmp_path, "u,label,remarks\n" + "".join(f"{i},{'ab'[i % 2]}{',x' * (i % 2)}\n" for i in range(9)))
    assert load(tmp_path, target="label", drop=["remarks"], index=False).features.shape == (9, 1)
