"""Columns that are not features: an index is left out, and columns that look like one are reported."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from kernel_pipeline.data.tables import table_from_frame
from kernel_pipeline.errors import DataError
from tests.helpers.build import dense, file_dataset, load, put, refused

ROWS = "".join(f"{10 + i},{i * i},{7 * i % 11},{'ab'[i % 2]}\n" for i in range(12))
HEADER = "patient,v,w,label\n"


def index_notes(folder: Path, content: str, **dataset: Any) -> list[str]:
    put(folder, content)
    return [note for note in load(folder, **dataset).notes if "looks like an index" in note]


@pytest.mark.parametrize("index", [True, "patient", 0, -4])
def test_an_index_is_left_out(index: bool | int | str, tmp_path: Path) -> None:
    assert index_notes(tmp_path, HEADER + ROWS, index=index) == []
    assert dense(load(tmp_path, index=index)).shape == (12, 2)


def test_index_false_keeps_all_columns_without_a_note(tmp_path: Path) -> None:
    assert index_notes(tmp_path, HEADER + ROWS, index=False) == []
    assert dense(load(tmp_path, index=False)).shape == (12, 3)


def test_an_index_need_not_be_a_number(tmp_path: Path) -> None:
    put(tmp_path, HEADER + ROWS.replace("1", "one", 1))
    assert dense(load(tmp_path, index="patient")).shape == (12, 2)


def test_integers_in_steps_of_one_look_like_an_index_in_any_order(tmp_path: Path) -> None:
    (note,) = index_notes(tmp_path, HEADER + ROWS)
    assert note.startswith("column 'patient' looks like an index (its sorted values increase in steps of one)")
    assert "index = 'patient'" in note
    lines = ROWS.splitlines(keepends=True)
    assert len(index_notes(tmp_path, "".join(lines[::2] + lines[1::2]))) == 1


@pytest.mark.parametrize(
    "content",
    [
        ROWS.replace("10,", "9,", 1),  # a step of two
        ROWS.replace("11,", "10,", 1),  # a repetition
        ROWS.replace("10,", "10.5,", 1),
        "".join(ROWS.splitlines(keepends=True)[:9]),  # too few rows
    ],
    ids=["step", "repetition", "fraction", "few rows"],
)
def test_other_integers_do_not_look_like_an_index(content: str, tmp_path: Path) -> None:
    assert index_notes(tmp_path, content) == []


@pytest.mark.parametrize("name", ["id", "Index", "ID", ""])
def test_names_that_look_like_an_index(name: str, tmp_path: Path) -> None:
    (note,) = index_notes(tmp_path, HEADER.replace("patient", name) + ROWS.replace("10,", "9,", 1))
    assert repr(name or "Unnamed: 0") in note
    assert "by its name" in note


def test_the_index_is_not_the_target(tmp_path: Path) -> None:
    assert "index = 'label' is also the target column 'label'" in refused(tmp_path, HEADER + ROWS, index="label")


def test_an_index_that_is_not_a_column(tmp_path: Path) -> None:
    assert "index = 'id' is not a column. Available: 'patient'" in refused(tmp_path, HEADER + ROWS, index="id")


def test_all_text_columns_are_in_one_message_with_the_value_of_drop(tmp_path: Path) -> None:
    rows = "".join(f"p{i},{i * i},{['', 'Paris'][i % 2]},{'ab'[i % 2]}\n" for i in range(12))
    text = refused(tmp_path, "name,v,city,label\n" + rows, drop=["v"])
    assert "column 'name' contains text: 'p0' in data row 1; column 'city' contains text: 'Paris' in data row 2" in text
    assert "Add these columns to drop (drop = ['v', 'name', 'city']" in text
    assert "encode = 'onehot'" in text


def test_columns_of_decimal_commas_are_not_suggested_for_drop(tmp_path: Path) -> None:
    rows = "".join(f"p{i};{i},5;{'ab'[i % 2]}\n" for i in range(12))
    text = refused(tmp_path, "name;v;label\n" + rows)
    assert "If the comma is the decimal separator in 'v', set decimal = ','. Otherwise, correct the file" in text
    assert "Drop the column (drop = ['name'])" in text


def test_a_wide_table_of_text_lists_the_first_columns(tmp_path: Path) -> None:
    rows = "".join(",".join(f"t{i}" for _ in range(30)) + f",{i},{'ab'[i % 2]}\n" for i in range(9))
    text = refused(tmp_path, rows)
    assert "column 19 contains text" in text
    assert "column 20 contains text" not in text
    assert "and 10 more" in text
    assert f"drop = {list(range(30))}" in text


@pytest.mark.parametrize("format_", ["parquet", "feather"])
def test_duplicate_names_of_an_arrow_file_are_refused(format_: str, tmp_path: Path) -> None:
    table = pa.table([pa.array(np.arange(9.0)) for _ in range(3)], names=["u", "u", "label"])
    if format_ == "parquet":
        parquet.write_table(table, tmp_path / "things.parquet")
    else:
        feather.write_feather(table, tmp_path / "things.feather")
    with pytest.raises(DataError) as caught:
        load(tmp_path, path=f"things.{format_}", format=format_)
    assert str(caught.value) == "dataset 'things': several columns are named 'u'; rename all but one"


LISTS = [np.array([i, 2 * i]) for i in range(9)]
MAPPINGS = [{"a": i, "b": 2 * i} for i in range(9)]


@pytest.mark.parametrize("encode", [{}, {"encode": "onehot"}, {"encode": {"a": 1.0}}], ids=["", "onehot", "codes"])
@pytest.mark.parametrize(
    ("cells", "shown"), [(LISTS, "a list in data row 1: [0, 0]"), (MAPPINGS, "a mapping in data row 1: {'a': 0, 'b'")]
)
def test_nested_columns_are_refused_unless_they_are_dropped(
    cells: list[Any], shown: str, encode: dict[str, Any], tmp_path: Path
) -> None:
    frame = pd.DataFrame({"u": range(9), "x": cells, "v": cells, "label": list("ababababa")})
    frame.to_parquet(tmp_path / "things.parquet")
    options = {"path": "things.parquet", "format": "parquet"} | encode
    with pytest.raises(DataError) as caught:
        load(tmp_path, drop=["u"], **options)
    text = str(caught.value)
    assert text.startswith(f"dataset 'things': column 'x' contains {shown}")
    assert "must be numbers or text. Nested columns: 'x', 'v'. Drop them (drop = ['u', 'x', 'v'])" in text
    assert load(tmp_path, drop=["x", "v"], **options).features.shape == (9, 1)
    with pytest.raises(DataError, match=r"the target column 'x' contains a .* Name another target column: target ="):
        load(tmp_path, drop=["v"], target="x", **options)


@pytest.mark.parametrize("kernels", [[{"family": "rank-one"}], [{"family": "linear"}]], ids=["rank-one", "linear"])
def test_encoded_columns_of_the_same_name_are_refused(kernels: list[Any], tmp_path: Path) -> None:
    rows = "".join(f"{i},{['red', 'blue'][i % 2]},{i * i},{'ab'[i % 2]}\n" for i in range(9))
    text = refused(tmp_path, "color_red,color,v,label\n" + rows, encode="onehot", kernels=kernels)
    assert "columns 'color_red' and 'color' become features of the same name 'color_red'" in text
    assert "rename 'color_red', or drop it (drop = ['color_red'])" in text
    assert load(tmp_path, encode="onehot", kernels=kernels, drop=["color_red"]).features.shape == (9, 3)
    assert load(tmp_path, encode="onehot", kernels=[{"family": "linear", "columns": ["v"]}]).kernels == ("linear",)


def test_different_cells_that_are_written_alike_are_refused(tmp_path: Path) -> None:
    cells = pd.Categorical([1, "1", "x"] * 3, categories=[1, "1", "x"])
    frame = pd.DataFrame({"u": range(9), "color": cells, "label": list("ababababa")})
    dataset = file_dataset(encode="onehot", target="label")
    with pytest.raises(
        DataError, match=r"column 'color' contains different values that are written alike, .*'color_1'"
    ):
        table_from_frame(frame, dataset)


@pytest.mark.parametrize("format_", ["parquet", "feather"])
def test_gaps_types_and_indexes_of_arrow_files(format_: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "u": pd.array([None, *range(1, 12)], dtype="Int64"),
            "colour": pd.Categorical(["red", "green", None] * 4),
            "flag": [True, False] * 6,
            "label": ["a", "b"] * 6,
        }
    )
    if format_ == "parquet":
        frame.index = pd.Index([f"row {i}" for i in range(12)], name="rows")
    getattr(frame, f"to_{format_}")(tmp_path / f"things.{format_}")
    samples = load(tmp_path, path=f"things.{format_}", format=format_, encode="onehot", missing="drop")
    assert samples.left_out == 5
    i = samples.order
    expected = np.column_stack([i, i % 3 == 1, i % 3 == 0, i % 2 == 0]).astype(float)
    np.testing.assert_array_equal(samples.features, expected)


def test_a_regression_on_two_texts_asks_whether_it_is_a_classification(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    (note,) = (note for note in load(tmp_path, task="regression").notes if "did you mean" in note)
    assert (
        note
        == "the target of the regression is text (a, b), encoded as -1 and +1; did you mean task = 'classification'?"
    )
    for task in ("classification", ["regression", "classification"]):
        assert not any("did you mean" in note for note in load(tmp_path, task=task).notes)
    assert not any("did you mean" in note for note in load(tmp_path, task="regression", target=2, drop=[3]).notes)


MESSY = "id,pH,soil,day,label\n" + "".join(
    f"s-{i},{'' if i == 3 else 6 + i % 4},{['clay', 'sand', ''][i % 3]},{'' if i % 4 == 1 else i},{'ab'[i % 2]}\n"
    for i in range(24)
)
VIEW: list[dict[str, Any]] = [{"family": "gaussian", "gamma": 1.0, "columns": ["pH"]}]


def test_a_text_column_of_different_words_looks_like_an_index(tmp_path: Path) -> None:
    content = MESSY.replace("id,", "sample,")
    (note,) = index_notes(tmp_path, content, encode="onehot", missing="mean")
    assert note.startswith("column 'sample' looks like an index (it has 24 different values in 24 rows)")
    assert "set index = 'sample' to leave it out" in note
    assert index_notes(tmp_path, content, encode="onehot", missing="mean", index=False) == []
    for repeated, notes in ((2, 1), (3, 0)):  # 22 or 21 of 24 texts are different
        fewer = re.sub(rf"s-[0-{repeated}],", "s-0,", content)
        assert len(index_notes(tmp_path, fewer, encode="onehot", missing="mean")) == notes


def test_an_index_does_not_suppress_the_notes_about_other_columns(tmp_path: Path) -> None:
    content = MESSY.replace("id,", "sample,")
    lines = content.splitlines(keepends=True)
    content = "".join([f"student,{lines[0]}", *(f"p-{i},{line}" for i, line in enumerate(lines[1:]))])
    first, second = index_notes(tmp_path, content, encode="onehot", missing="mean")
    assert "set index = 'student'" in first
    assert second.endswith("set drop = ['sample'] to leave it out")
    (note,) = index_notes(tmp_path, content, encode="onehot", missing="mean", index="student", drop=["pH"])
    assert note.startswith("column 'sample' looks like an index (it has 24 different values in 24 rows)")
    assert note.endswith("set drop = ['pH', 'sample'] to leave it out")


def test_all_notes_propose_the_same_columns_to_drop(tmp_path: Path) -> None:
    rows = (
        f"p-{i},s-{i},{i % 28 + 1}.{i % 12 + 1}.2024,{i % 7},{'' if i % 5 else f'remark {i}'},d-{i % 45},{i // 15},"
        f"{'ab'[i % 2]}\n"
        for i in range(60)
    )
    put(tmp_path, "student,sample,day,grade,remark,room,floor,label\n" + "".join(rows))
    index = "looks like an index (it has 60 different values in 60 rows), but is used as a feature"
    drop = "set drop = ['floor', 'sample', 'day', 'room'] to leave all such columns out"
    notes = load(tmp_path, encode="onehot", missing="mean", drop=["floor"]).notes
    assert notes[1:-1] == (
        f"column 'student' {index}; set index = 'student' to leave it out, or index = false to keep it without this "
        "note",
        f"column 'sample' {index}; {drop}",
        f"column 'day' contains dates and becomes 60 of 238 features; {drop}",
        f"column 'room' has 45 different values in 60 rows and becomes 45 of 238 features; {drop}",
    )
    copied: dict[str, Any] = {"index": "student", "drop": ["floor", "sample", "day", "room"]}
    assert "drop" not in "".join(load(tmp_path, encode="onehot", missing="mean", **copied).notes)


@pytest.mark.parametrize(
    "dates",
    [
        ("2024-01-05", "2024-1-6 10:00", "2024-01-07T10:00:30Z", ""),
        ("5.1.2024", "06.01.24", "7.1.24 9:15", "unknown", "8.1.24", "9.1.24"),
        ("1/5/2024", "1/6/24", "01/07/2024"),
    ],
)
def test_dates_are_noted_even_if_they_are_few(dates: tuple[str, ...], tmp_path: Path) -> None:
    put(tmp_path, "day,grade,label\n" + "".join(f"{dates[i % len(dates)]},{i},{'ab'[i % 2]}\n" for i in range(9)))
    for index, notes in ((None, 1), (False, 0)):
        found = load(tmp_path, encode="onehot", missing="mean", index=index).notes
        assert sum(note.startswith("column 'day' contains dates") for note in found) == notes


@pytest.mark.parametrize("index", [None, "student"])
def test_a_text_column_that_becomes_many_features_is_noted(index: str | None, tmp_path: Path) -> None:
    def notes(texts: int, **dataset: Any) -> list[str]:
        rows = (f"{i * i},{i % 7},d-{i % texts},{'ab'[i % 2]}\n" for i in range(60))
        put(tmp_path, "student,grade,enrolled,label\n" + "".join(rows))
        return [note for note in load(tmp_path, encode="onehot", **dataset).notes if "different values" in note]

    features = 46 + (index is None)
    keys = {} if index is None else {"index": index}
    assert notes(45, **keys) == [
        f"column 'enrolled' has 45 different values in 60 rows and becomes 45 of {features} features; set "
        "drop = ['enrolled'] to leave it out"
    ]
    assert notes(29, **keys) == notes(45, index=False) == []


def test_a_column_in_no_view_is_noted_and_its_gaps_and_text_do_not_matter(tmp_path: Path) -> None:
    put(tmp_path, MESSY)
    note = "columns 'id', 'soil', 'day' are in no view, so no kernel uses them"
    for missing, rows in (("drop", 23), ("mean", 24)):
        samples = load(tmp_path, target="label", kernels=VIEW, missing=missing)
        assert note in samples.notes
        assert not any("looks like an index" in one for one in samples.notes)
        assert len(dense(samples)) == rows
    kernels = [*VIEW, {"family": "linear", "columns": ["soil", "day"]}]
    samples = load(tmp_path, target="label", drop=["id"], kernels=kernels, encode="onehot", missing="drop")
    assert sorted(samples.order) == [i for i in range(24) if i % 3 != 2 and i % 4 != 1 and i != 3]
    assert not any("in no view" in one for one in samples.notes)


def test_usable_columns_in_no_view_stay_among_the_features(tmp_path: Path) -> None:
    put(tmp_path, HEADER + ROWS)
    samples = load(tmp_path, target="label", kernels=[{"family": "linear", "columns": ["v"]}])
    assert "columns 'patient', 'w' are in no view, so no kernel uses them" in samples.notes
    assert samples.columns is not None
    assert samples.columns.names == ("patient", "v", "w")


@pytest.mark.parametrize(("content", "which"), [(HEADER + ROWS, "'label'"), (ROWS, "number 3")])
def test_a_target_that_the_config_does_not_set_is_named(content: str, which: str, tmp_path: Path) -> None:
    put(tmp_path, content)
    note = f"the target is the last column, {which}, since the config does not set target"
    assert note in load(tmp_path, index=False).notes
    assert note not in load(tmp_path, index=False, target=-1).notes


def test_missing_values_are_words_or_numbers_in_any_column(tmp_path: Path) -> None:
    rows = [f"{i}.5,{i % 5},{'ab'[i % 2]}" for i in range(12)]
    rows[2], rows[5], rows[7] = "n.d.,1,a", "5.5,-999,b", "7.5,2,unknown"
    put(tmp_path, "u,v,label\n" + "\n".join(rows) + "\n")
    samples = load(tmp_path, target="label", missing="median", missing_values=["n.d.", -999, "unknown"])
    assert sorted(set(range(12)) - set(samples.order)) == [7]
    assert any("2 of 22 feature values are imputed, in columns 'u' (1), 'v' (1)" in note for note in samples.notes)
    raw = pd.read_csv(tmp_path / "things.csv", na_values=["n.d.", "-999", "unknown"])
    raw = raw[raw["label"].notna()][["u", "v"]]
    expected = raw.fillna(raw.median()).loc[samples.order].to_numpy()
    np.testing.assert_array_equal(dense(samples), expected)


def test_categories_may_be_numbers_and_rare_words(tmp_path: Path) -> None:
    rows = "".join(f"{['', 10, 9, 9, 10, 'other'][i % 6] if i < 6 else 9},{i % 3},{'ab'[i % 2]}\n" for i in range(12))
    put(tmp_path, "children,code,label\n" + rows)
    samples = load(tmp_path, target="label", missing="drop", categorical=["children", "code"])
    assert samples.columns is not None
    assert samples.columns.names == ("children_10", "children_9", "children_other", "code_0", "code_1", "code_2")
    i = samples.order
    assert 0 not in i
    np.testing.assert_array_equal(dense(samples)[:, 3:], np.equal.outer(i % 3, np.arange(3)))
    np.testing.assert_array_equal(dense(samples)[:, 0], np.isin(i, (1, 4)))
    np.testing.assert_array_equal(dense(samples)[:, 2], i == 5)


def test_a_column_is_text_if_at_least_a_fifth_of_its_values_are_words(tmp_path: Path) -> None:
    for words, is_refused in ((2, True), (3, False)):  # of 12 values: below and above a fifth
        content = "u,label\n" + "".join(f"{f't{i}' if i < words else i},{'ab'[i % 2]}\n" for i in range(12))
        if is_refused:
            assert "'t0' in data row 1 and text in 1 more row" in refused(tmp_path, content, encode="onehot")
        else:
            put(tmp_path, content)
            assert dense(load(tmp_path, encode="onehot", target="label")).shape == (12, 12)
