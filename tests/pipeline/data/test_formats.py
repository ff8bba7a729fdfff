import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.config.other_formats import EXTENSIONS
from kernel_pipeline.data.formats.format import FORMATS
from kernel_pipeline.data.sources.file import read_frame
from kernel_pipeline.errors import DataError
from tests.helpers.build import FEATURES, LABELS, ROWS, file_dataset, load, put

TABLE = "".join(f"   {i}  {2 * i % 5}\t{'ab'[i % 2]}  \n" for i in range(9))
LIBSVM = "".join(f"{1 if i % 2 else -1} 1:{i} 2:{2 * i % 5} # a comment\n" for i in range(9))
ARFF_HEAD = "% a comment\n@relation things\n@attribute u numeric\n@attribute v real\n@attribute label {a,b}\n@data\n"
ARFF = ARFF_HEAD + ROWS
NOMINAL_HEAD = "@relation things\n@attribute u numeric\n@attribute colour {red,green}\n@attribute label {a,b}\n@data\n"
NOMINAL = NOMINAL_HEAD + "".join(f"{i},{'red' if i % 3 else 'green'},{'ab'[i % 2]}\n" for i in range(9))


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def arrow(format_: str, frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    getattr(frame, f"to_{format_}")(file)
    return file.getvalue()


FRAME = pd.DataFrame({"u": range(9), "v": FEATURES[:, 1], "label": ["ab"[i % 2] for i in range(9)]})


def read(path: Path, **dataset: Any) -> pd.DataFrame:
    frame, _ = read_frame(path, file_dataset(**dataset))
    return frame


def refused(folder: Path, content: str | bytes, format_: str, name: str | None = None, **dataset: Any) -> str:
    """Return the message about a file that cannot be used."""
    name = name or f"things.{format_}"
    put(folder, content, name)
    with pytest.raises(DataError) as caught:
        load(folder, path=name, format=format_, **dataset)
    text = str(caught.value)
    assert "dataset 'things'" in text
    return text


def readable(value: Any) -> str:
    """Return the test ID of a parameter, without the contents of files."""
    if isinstance(value, list):
        return " ".join(value)
    return value if value in FORMATS else ""


GOOD = [
    ("csv", ROWS, "x.csv"),
    ("csv", ROWS, "x.csv.gz"),
    ("csv", "u,v,label\n" + ROWS, "x.headed.csv"),
    ("table", TABLE, "x.data"),
    ("table", TABLE, "x.data.gz"),
    ("libsvm", LIBSVM, "x.libsvm"),
    ("libsvm", LIBSVM, "x.libsvm.gz"),
    ("arff", ARFF, "x.arff"),
    ("arff", ARFF, "x.arff.gz"),
    ("npz", npz(features=FEATURES, target=LABELS), "x.npz"),
    ("parquet", arrow("parquet", FRAME), "x.parquet"),
    ("feather", arrow("feather", FRAME), "x.feather"),
    ("npz", npz(features=FEATURES.astype(np.float32), target=np.array(["a", "b"] * 4 + ["a"])), "x.text.npz"),
]


@pytest.mark.parametrize(("format_", "content", "name"), GOOD, ids=[name for _, _, name in GOOD])
def test_every_format_gives_the_same_numbers(format_: str, content: str | bytes, name: str, tmp_path: Path) -> None:
    put(tmp_path, content, name)
    samples = load(tmp_path, path=name, format=format_, header=True if "headed" in name else None)
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order])
    assert sorted(samples.order) == list(range(9))


def test_every_format_is_tested_and_has_an_extension() -> None:
    assert {format_ for format_, _, _ in GOOD} == set(FORMATS) == set(EXTENSIONS.values())


def test_csv_without_a_header_numbers_its_columns(tmp_path: Path) -> None:
    frame = read(put(tmp_path, ROWS))
    assert [*map(str, frame.columns)] == ["0", "1", "2"]
    assert len(frame) == 9


def test_csv_has_a_header_if_the_target_is_a_name(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "u,v,label\n" + ROWS), target="label")
    assert list(frame.columns) == ["u", "v", "label"]
    assert len(frame) == 9


@pytest.mark.parametrize("format_", ["csv", "table"])
def test_header_may_be_given_with_a_target_by_number(format_: str, tmp_path: Path) -> None:
    text = "u,v,label\n" + ROWS
    path = put(tmp_path, text if format_ == "csv" else text.replace(",", " "))
    assert list(read(path, format=format_, header=True).columns) == ["u", "v", "label"]


def test_header_false_takes_precedence_over_a_named_target(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    with pytest.raises(DataError, match=r"target = 'label' is not a column. Available: 0, 1, 2"):
        load(tmp_path, target="label", header=False)


def test_csv_reads_quotes_blanks_and_empty_lines(tmp_path: Path) -> None:
    frame = read(put(tmp_path, '"1", 2,"a, b"\n\n 3,4, c\n'))
    assert frame.to_numpy().tolist() == [[1, 2, "a, b"], [3, 4, "c"]]


@pytest.mark.parametrize("format_", ["csv", "table"])
def test_question_marks_and_empty_cells_are_gaps(format_: str, tmp_path: Path) -> None:
    text = "1,?,a\n2,3,b\n" if format_ == "csv" else " 1 ? a\n 2 3 b\n"
    frame = read(put(tmp_path, text), format=format_)
    assert frame.isna().to_numpy().tolist() == [[False, True, False], [False, False, False]]
    assert read(put(tmp_path, "1,,a\n2,3,b\n")).isna().sum().sum() == 1


def test_arff_names_its_columns_and_nominal_values_are_text(tmp_path: Path) -> None:
    frame = read(put(tmp_path, NOMINAL, "things.arff"), format="arff")
    assert list(frame.columns) == ["u", "colour", "label"]
    assert frame["colour"].tolist() == ["red" if i % 3 else "green" for i in range(9)]
    assert set(frame["label"]) == {"a", "b"}


def test_arff_gaps_in_numbers_and_nominal_values(tmp_path: Path) -> None:
    frame = read(put(tmp_path, NOMINAL_HEAD + "?,red,a\n1,?,b\n1,red,?\n", "things.arff"), format="arff")
    assert frame.isna().to_numpy().tolist() == np.eye(3, dtype=bool).tolist()


def test_libsvm_has_its_target_last_and_absent_numbers_are_zero(tmp_path: Path) -> None:
    frame = read(put(tmp_path, "1 1:5 3:7\n-1 2:6\n", "things.libsvm"), format="libsvm")
    assert frame.columns[-1] == "target"
    assert frame.to_numpy().tolist() == [[5, 0, 7, 1], [0, 6, 0, -1]]


@pytest.mark.parametrize(
    ("format_", "content", "words"),
    [
        ("csv", "", ["cannot read", "things.csv", "'csv'"]),
        ("table", "", ["cannot read", "things.table", "'table'"]),
        ("arff", "", ["cannot read", "things.arff", "no data found"]),
        ("libsvm", "", ["there is no feature column"]),
        ("arff", ARFF_HEAD, ["0 rows"]),
        ("csv", ROWS + "1,2,3,4,5\n", ["cannot read", "line 10", "3", "5"]),
        ("table", TABLE + "1 2 3 4 5\n", ["cannot read", "line 10", "3", "5"]),
        ("csv", ROWS + "1,2\n", ["data row 10 has 2 fields", "3 columns", "1 of 10 rows"]),
        ("csv", '"1,2,a\n' + ROWS, ["cannot read", "is not closed"]),
        ("csv", "1,\xe9\n".encode("latin-1") * 9, ["cannot read", "utf-8"]),
        ("arff", ARFF + "1,2,c\n", ["cannot read", "c value not in ('a', 'b')"]),
        ("arff", ARFF + "x,2,a\n", ["cannot read", "'x'"]),
        ("arff", "@relation r\n@attribute u string\n@attribute v numeric\n@data\nfoo,1\n", ["cannot read", "String"]),
        ("arff", ROWS, ["cannot read", "'arff'"]),
        ("libsvm", ROWS, ["cannot read", "'libsvm'"]),
        ("libsvm", TABLE, ["cannot read", "'libsvm'"]),
        ("npz", ROWS, ["cannot read", "'npz'"]),
        ("csv", ARFF, ["cannot read", "'csv'"]),
        ("csv", LIBSVM, ["there is no feature column"]),
        ("table", ROWS, ["there is no feature column"]),
        ("csv", TABLE.replace("\t", " "), ["there is no feature column"]),
        ("npz", npz(X=FEATURES, target=LABELS), ["'X'", "'features' and 'target' are required"]),
        ("npz", npz(features=FEATURES), ["['features']", "'features' and 'target' are required"]),
        ("npz", npz(features=FEATURES, target=LABELS[:4]), ["(9, 2)", "(4,)", "(m, d) and (m,)"]),
        ("npz", npz(features=LABELS, target=LABELS), ["(9,)", "(m, d) and (m,)"]),
        ("npz", npz(features=FEATURES, target=FEATURES), ["(9, 2)", "(m, d) and (m,)"]),
        ("npz", npz(features=FEATURES[:, :0], target=LABELS), ["there is no feature column"]),
        ("npz", npz(features=FEATURES.astype(object), target=LABELS), ["cannot read", "allow_pickle=False"]),
        ("npz", npz(features=FEATURES, target=LABELS.astype(object)), ["cannot read", "allow_pickle=False"]),
    ],
    ids=readable,
)
def test_files_that_cannot_be_used(format_: str, content: str | bytes, words: list[str], tmp_path: Path) -> None:
    text = refused(tmp_path, content, format_)
    for word in words:
        assert word in text


@pytest.mark.parametrize("format_", ["csv", "table", "arff", "libsvm"])
def test_gz_that_is_not_compressed(format_: str, tmp_path: Path) -> None:
    (tmp_path / "things.gz").write_text(ROWS)
    with pytest.raises(DataError, match=r"cannot read .*things\.gz.*Not a gzipped file"):
        load(tmp_path, path="things.gz", format=format_)


@pytest.mark.parametrize(
    ("format_", "content"), [("csv", ROWS), ("table", TABLE), ("arff", ARFF), ("libsvm", LIBSVM)], ids=readable
)
def test_gz_that_ends_too_early(format_: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "things.gz").write_bytes(gzip.compress(content.encode() * 100)[:40])
    with pytest.raises(DataError, match=r"cannot read .*things\.gz"):
        load(tmp_path, path="things.gz", format=format_)


@pytest.mark.parametrize(
    ("format_", "content"),
    [
        ("parquet", arrow("parquet", FRAME)[:-40]),
        ("feather", arrow("feather", FRAME)[:-40]),
        ("npz", npz(features=FEATURES, target=LABELS)[:-40]),
        ("arff", ARFF[:60]),
        ("libsvm", LIBSVM + "-1 1"),
        ("parquet", ROWS),
        ("feather", ROWS),
        ("npz", ROWS),
        ("arff", ROWS),
        ("libsvm", ROWS),
    ],
    ids=readable,
)
def test_the_message_about_a_broken_file_says_what_to_do(format_: str, content: str | bytes, tmp_path: Path) -> None:
    text = refused(tmp_path, content, format_)
    assert f"cannot read {tmp_path / 'things'}.{format_} as '{format_}': " in text
    assert text.endswith(". Save the file again, or set format if it has another format")


@pytest.mark.parametrize("make", [lambda: b"", lambda: npy(FEATURES)], ids=["empty", "npy"])
def test_content_that_is_not_npz(make: Callable[[], bytes], tmp_path: Path) -> None:
    assert "cannot read" in refused(tmp_path, make(), "npz")


def test_npz_of_complex_numbers(tmp_path: Path) -> None:
    assert "real numbers are required" in refused(
        tmp_path, npz(features=FEATURES.astype(complex), target=LABELS), "npz"
    )


def test_arff_that_is_ragged(tmp_path: Path) -> None:
    assert "cannot read" in refused(tmp_path, ARFF + "1,2\n", "arff")


def test_csv_with_nothing_but_a_header(tmp_path: Path) -> None:
    assert "0 rows" in refused(tmp_path, "u,v,label\n", "csv", target="label")


def test_rows_longer_than_the_header_lose_no_column(tmp_path: Path) -> None:
    longer = "".join(f"{i},{i * i},{2 * i % 5},{i % 2}\n" for i in range(9))
    assert "cannot read" in refused(tmp_path, "u,v,label\n" + longer, "csv", target="label")


def test_message_about_a_ragged_file_ends_with_its_text(tmp_path: Path) -> None:
    text = refused(tmp_path, ROWS + "1,2,3,4,5\n", "csv")
    assert text == text.strip()
