"""The separator of csv files is found in their first lines."""

from pathlib import Path

import pytest

from kernel_pipeline.data.sources.file import read_frame
from tests.helpers.build import file_dataset, put
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
    assert read(tmp_path, "u,v;w,x\n1,2\n4;3,5\n", header=True).shape[1] == 3  # no mark fits
