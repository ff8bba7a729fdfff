"""Files of views are read like those of sweeps; what would give other numbers is rejected or noted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main

X = np.random.default_rng(4).normal(size=(40, 3)).round(3)
LINES = [",".join(map(str, row)) for row in X]
HEADER = "a,b,c"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("same.npy", X)


def write(lines: list[str], name: str = "data.csv") -> None:
    Path(name).write_text("".join(f"{line}\n" for line in lines))


def compare(*files: str) -> Result:
    return CliRunner().invoke(main, ["similarity", *files, "--out", "out"])


def refusal(name: str = "data.csv") -> str:
    """Return the message with which a file is rejected."""
    result = compare("same.npy", name)
    assert result.exit_code == 2, result.output
    assert not Path("out").exists()
    assert name in result.stderr
    assert "set " not in result.stderr  # there is no config
    return result.stderr


def notes() -> str:
    """Return the notes about a file that is read as the same numbers as the array."""
    result = compare("same.npy", "data.csv")
    assert result.exit_code == 0, result.output
    found = pd.read_csv("out/similarity.csv", index_col="view")
    np.testing.assert_allclose(found, 1.0, rtol=1e-12)
    return result.stderr


def german(lines: list[str]) -> list[str]:
    return [line.replace(",", ";").replace(".", ",") for line in lines]


def test_a_view_with_the_name_of_a_column_of_the_table_is_refused() -> None:
    write([HEADER, *LINES], "view.csv")
    assert "'view' is the name of a column of similarity.csv; rename the file" in refusal("view.csv")


def test_files_with_a_header_are_read_without_notes() -> None:
    write([HEADER, *LINES])
    assert "note" not in notes()


def test_another_separator_is_detected() -> None:
    write([line.replace(",", ";") for line in [HEADER, *LINES]])
    assert "note: the columns of data.csv are read as separated by ';'" in notes()


def test_a_file_of_tabs_is_read() -> None:
    write([line.replace(",", "\t") for line in [HEADER, *LINES]], "data.tsv")
    assert compare("same.npy", "data.tsv").exit_code == 0


@pytest.mark.parametrize("header", [[HEADER], []], ids=["header", "no header"])
@pytest.mark.parametrize("name", ["data.csv", "data.tsv"])
def test_decimal_commas_are_refused(header: list[str], name: str) -> None:
    mark = ";" if name == "data.csv" else "\t"
    write([line.replace(";", mark) for line in german([*header, *LINES])], name)
    expected = "" if header else ", header=None"
    message = refusal(name)
    assert "numbers seem to have decimal commas" in message
    assert f"pd.read_csv('{name}', sep={mark!r}, decimal=','{expected})" in message


@pytest.mark.parametrize("header", [["0"], ["x"], []], ids=["number", "name", "no header"])
def test_decimal_commas_of_one_column_are_refused(header: list[str]) -> None:
    write([*header, *(f"0,{value:02}" for value in range(40))])
    assert "numbers seem to have decimal commas" in refusal()


@pytest.mark.parametrize("header", [[HEADER], ["0,1,2"], []], ids=["names", "numbers", "no header"])
def test_the_proposed_correction_of_decimal_commas_works(header: list[str]) -> None:
    write(german([*header, *LINES]))
    command = refusal().partition("in Python: ")[2].strip().replace("'points.csv'", "'data.csv'")
    exec(command.removesuffix("."), {"pd": pd})
    notes()


def test_no_correction_is_proposed_if_the_header_is_unclear() -> None:
    write(["0", *(f"0,{value:02}" for value in range(40))])
    assert "Save it with decimal points, and with names of the columns, such as x0, in its first line" in refusal()


def test_equal_names_are_refused() -> None:
    write(["a,a,b", *LINES])
    message = refusal()
    assert "its first line has the name 'a' 2 times" in message
    assert "decimal" not in message


def test_rows_with_other_numbers_of_fields_are_refused() -> None:
    write([HEADER, *(f"s,{line}" for line in LINES)])
    assert "line 2 has 4 fields, but the lines above it have at most 3" in refusal()
    write([HEADER, *(f"{line}," for line in LINES)])
    assert "line 2 has 4 fields" in refusal()
    write([HEADER, *LINES[:20], "1.5,2.5", *LINES[21:]])
    assert "data row 21 has 2 fields, but there are 3 columns" in refusal()


def test_a_file_without_a_header_is_read_whole() -> None:
    write(LINES)
    assert "note: the first line of data.csv is read as a sample" in notes()


def test_a_header_of_consecutive_numbers_is_noted() -> None:
    write(["0,1,2", *LINES])
    assert "note: the first line of data.csv (0, 1, 2) is read as a header" in notes()


@pytest.mark.parametrize(
    "lines", [["0,1", *["0.5,1.5"] * 40], ["0,1,2,3", *["4,5,6,7"] * 40], ["0", *["0.5"] * 40]], ids=len
)
def test_a_first_line_that_may_be_a_sample_is_refused(lines: list[str]) -> None:
    write(lines)
    assert "may be a header or a sample" in refusal()


@pytest.mark.parametrize("names", [["a", "b", "c"], [0, 1, 2]], ids=["names", "numbers"])
def test_the_index_of_pandas_is_refused(names: list[str | int]) -> None:
    pd.DataFrame(X, columns=names).to_csv("data.csv")
    assert "column 'Unnamed: 0' has no name in the file, so it seems to be an index" in refusal()
    pd.DataFrame(X, columns=names).sample(20, random_state=0).to_csv("data.csv")
    assert "column 'Unnamed: 0' has no name" in refusal()


@pytest.mark.parametrize("header", [["sample,a,b,c"], []], ids=["header", "no header"])
def test_consecutive_values_are_noted(header: list[str]) -> None:
    write([*header, *(f"{place},{line}" for place, line in enumerate(LINES))])
    result = compare("same.npy", "data.csv")
    assert result.exit_code == 0
    column = "'sample'" if header else "number 0"
    assert f"note: column {column} of data.csv looks like an index" in result.stderr


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", "column 'b' contains a missing value in data row 8; 1 row has missing or infinite values"),
        ("-inf", "column 'b' contains the value -inf in data row 8"),
        ("n.d.", "column 'b' contains text: 'n.d.' in data row 8"),
    ],
)
def test_a_wrong_cell_is_named(cell: str, message: str) -> None:
    write([HEADER, *LINES[:7], f"1.5,{cell},2.5", *LINES[8:]])
    found = refusal()
    assert message in found
    assert "Imputer" not in found


def test_a_wrong_cell_of_a_parquet_file_is_named() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.loc[4, "c"] = np.nan
    frame.to_parquet("data.parquet")
    assert "column 'c' contains a missing value in data row 5" in refusal("data.parquet")


def test_a_separator_at_the_end_of_each_line_is_refused() -> None:
    write([f"{line}," for line in LINES])
    assert "column number 3 has no values. Remove it from the file; in a text file, also the separator" in refusal()


def test_a_file_that_is_empty_or_not_text_is_refused() -> None:
    Path("data.csv").write_bytes(b"")
    assert "cannot read data.csv: the file is empty. Save the table again" in refusal()
    pd.DataFrame(X, columns=["a", "b", "c"]).to_parquet("data.parquet")
    Path("data.parquet").rename("data.csv")
    assert "it is a parquet file; give it the extension .parquet" in refusal()


def test_the_likely_cause_of_different_numbers_of_samples_is_named() -> None:
    write(["10,20,30", *LINES])
    message = refusal()
    assert "same has 40, data has 41" in message
    assert "Possible cause: the first line of data.csv is read as a sample, since it has no names" in message
