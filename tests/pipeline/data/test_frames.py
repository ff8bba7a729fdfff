"""Data files are found, and their columns become features and a target."""

from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE, data_folder
from kernel_pipeline.data.frames import split_columns
from kernel_pipeline.data.sources.file import read_frame
from kernel_pipeline.errors import DataError
from tests.helpers.build import ROWS, file_dataset, load, put


def columns(folder: Path, content: str = "u,v,label\n" + ROWS, **dataset: Any) -> tuple[list[Any], Any]:
    """Return the names of the feature columns and of the target column."""
    model = file_dataset(**dataset)
    frame, _ = read_frame(put(folder, content), model)
    features, target = split_columns(frame, model.name, model.target, model.drop)
    return list(features.columns), target.name


def refused(folder: Path, **dataset: Any) -> str:
    with pytest.raises(DataError) as caught:
        columns(folder, **dataset)
    assert "dataset 'things'" in str(caught.value)
    return str(caught.value)


def test_the_data_folder_is_that_of_the_option_the_variable_or_the_config_in_this_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    option, variable, config = Path("option"), Path("variable"), Path("config")
    monkeypatch.setenv(DATA_DIR_VARIABLE, str(variable))
    assert data_folder(option, config) == option
    assert data_folder(None, config) == variable
    monkeypatch.setenv(DATA_DIR_VARIABLE, "")
    assert data_folder(None, config) == config
    monkeypatch.delenv(DATA_DIR_VARIABLE)
    assert data_folder(None, config) == config


def test_paths_are_relative_to_the_folder_or_absolute(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path = put(tmp_path / "inner", ROWS)
    relative = load(tmp_path, path="inner/things.csv")
    absolute = load(tmp_path / "elsewhere", path=str(path))
    assert relative.fingerprint == absolute.fingerprint


def test_the_message_about_a_missing_file_names_its_path_and_how_to_change_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, path="absent.csv")
    for word in ("there is no file", str(tmp_path / "absent.csv"), "--data-dir", DATA_DIR_VARIABLE):
        assert word in str(caught.value)


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    with pytest.raises(DataError) as caught:
        load(tmp_path, path=".")
    expected = f"{tmp_path} is a folder, but a file is required; it contains things.csv. Set path to a file"
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize(
    ("target", "found"), [(-1, "label"), (2, "label"), (0, "u"), (-3, "u"), (1, "v"), ("label", "label"), ("u", "u")]
)
def test_target_by_number_from_either_end_and_by_name(target: int | str, found: str, tmp_path: Path) -> None:
    features, name = columns(tmp_path, target=target, header=True)
    assert name == found
    assert features == [column for column in ("u", "v", "label") if column != found]


@pytest.mark.parametrize(("drop", "left"), [([0], ["v"]), (["u"], ["v"]), ([-2], ["u"]), ([0, "u"], ["v"]), ([], 2)])
def test_drop_by_number_and_by_name(drop: list[int | str], left: Any, tmp_path: Path) -> None:
    features, _ = columns(tmp_path, drop=drop, header=True)
    assert features == left or len(features) == left


def test_numbers_count_the_columns_of_the_file_whatever_is_dropped(tmp_path: Path) -> None:
    assert columns(tmp_path, drop=[0], target=2, header=True) == (["v"], "label")


def test_the_target_cannot_be_dropped(tmp_path: Path) -> None:
    assert "drop = ['label'] contains the target column 'label'" in refused(tmp_path, header=True, drop=["label"])


@pytest.mark.parametrize("field", ["target", "drop"])
@pytest.mark.parametrize("number", [3, -4])
def test_a_column_number_out_of_range(field: str, number: int, tmp_path: Path) -> None:
    text = refused(tmp_path, header=True, **{field: number if field == "target" else [number]})
    for word in (f"{field} = {number}", "3 columns", "-3 to 2"):
        assert word in text


def test_an_unknown_column_name_lists_the_known_ones(tmp_path: Path) -> None:
    assert "target = 'labl' is not a column. Available: 'u', 'v', 'label'" in refused(tmp_path, target="labl")
    assert "drop = 'w' is not a column" in refused(tmp_path, target="label", drop=["w"])


def test_a_wide_table_does_not_list_all_of_its_columns(tmp_path: Path) -> None:
    wide = ",".join(f"c{i}" for i in range(50)) + "\n" + ",".join("1" * 50) + "\n"
    text = refused(tmp_path, content=wide, target="zz")
    assert "'c19', ..." in text
    assert "'c20'" not in text


def test_no_feature_column_left(tmp_path: Path) -> None:
    assert "there is no feature column besides the target 'label'" in refused(tmp_path, header=True, drop=[0, 1])
