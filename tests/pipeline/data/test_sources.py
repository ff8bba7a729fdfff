import warnings
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE, data_folder
from kernel_pipeline.data.frames import split_columns
from kernel_pipeline.data.prepared import PreparedDataset, load_samples
from kernel_pipeline.data.raw_table import read_source
from kernel_pipeline.data.sources.file import read_frame
from kernel_pipeline.errors import DataError
from tests.helpers.build import GAUSSIAN, ROWS, config_values, file_dataset, load, parsed, put


def dataset_of(source: str, **fields: Any) -> DatasetBase:
    values = config_values()
    values["dataset"] = [
        {"name": "things", "task": "classification", "source": source, "kernels": [GAUSSIAN], **fields}
    ]
    return parsed(values).dataset[0]


def ready(source: str, **fields: Any) -> PreparedDataset:
    values = config_values()
    values["dataset"] = [
        {"name": "things", "task": "classification", "source": source, "kernels": [GAUSSIAN], **fields}
    ]
    config = parsed(values)
    return load_samples(config, config.dataset[0], Path("nowhere"))


def columns(folder: Path, content: str = "u,v,label\n" + ROWS, **dataset: Any) -> tuple[list[Any], Any]:
    """The names of the feature columns and of the target column."""
    model = file_dataset(**dataset)
    frame = read_frame(put(folder, content), model)
    features, target = split_columns(frame, model.name, model.target, model.drop)
    return list(features.columns), target.name


def refused(folder: Path, **dataset: Any) -> str:
    with pytest.raises(DataError) as caught:
        columns(folder, **dataset)
    assert "dataset 'things'" in str(caught.value)
    return str(caught.value)


# Folders


def test_data_folder_goes_from_the_option_to_the_variable_to_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("path", ["absent.csv", "."])
def test_a_missing_file_says_where_it_was_looked_for_and_how_to_say_otherwise(path: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, path=path)
    for word in ("there is no file", str(tmp_path / path), "--data-dir", DATA_DIR_VARIABLE):
        assert word in str(caught.value)


# Columns


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
    assert "target = 'labl' is not a column; there are: 'u', 'v', 'label'" in refused(tmp_path, target="labl")
    assert "drop = 'w' is not a column" in refused(tmp_path, target="label", drop=["w"])


def test_a_wide_table_does_not_list_all_of_its_columns(tmp_path: Path) -> None:
    wide = ",".join(f"c{i}" for i in range(50)) + "\n" + ",".join("1" * 50) + "\n"
    text = refused(tmp_path, content=wide, target="zz")
    assert "'c19', ..." in text
    assert "'c20'" not in text


def test_no_feature_column_left(tmp_path: Path) -> None:
    assert "there is no feature column besides the target 'label'" in refused(tmp_path, header=True, drop=[0, 1])


# scikit-learn


@pytest.mark.parametrize(
    ("id_", "shape", "task", "positive"),
    [
        ("breast_cancer", (569, 30), "classification", None),
        ("diabetes", (442, 10), "regression", None),
        ("digits", (1797, 64), "classification", ["3", "8"]),
        ("iris", (150, 4), "classification", ["setosa"]),
        ("wine", (178, 13), "classification", ["class_0"]),
    ],
)
def test_datasets_of_sklearn(id_: str, shape: tuple[int, int], task: str, positive: list[str] | None) -> None:
    samples = ready("sklearn", id=id_, task=task, **({} if positive is None else {"positive": positive}))
    assert samples.features.shape == shape
    assert samples.left_out == 0


def test_iris_with_two_species_against_the_third() -> None:
    target = ready("sklearn", id="iris", positive=["versicolor", "virginica"]).targets["classification"]
    assert (target == 1).sum() == 100
    assert (target == -1).sum() == 50


def test_iris_without_positive_proposes_one() -> None:
    with pytest.raises(DataError) as caught:
        ready("sklearn", id="iris")
    for word in ("3 classes (setosa, versicolor, virginica)", "not supported yet", "positive = ['setosa']"):
        assert word in str(caught.value)


# Synthetic


def test_synthetic_is_friedmans_first_problem() -> None:
    dataset = dataset_of("synthetic", task="regression", rows=30, features=7, noise=0)
    table = read_source(dataset, Path("nowhere"), 0)
    x = table.features
    assert isinstance(x, np.ndarray)
    assert x.shape == (30, 7)
    expected = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    np.testing.assert_allclose(table.target.to_numpy(np.float64), expected)


def test_synthetic_depends_on_the_seed_alone() -> None:
    dataset = dataset_of("synthetic", task="regression", rows=30)
    one, two, other = (read_source(dataset, Path("nowhere"), seed).features for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(np.asarray(one), np.asarray(other))


def test_synthetic_classes_are_the_sides_of_the_median() -> None:
    samples = ready("synthetic", rows=30, task="classification")
    assert np.bincount((samples.targets["classification"] > 0).astype(int)).tolist() == [15, 15]


# OpenML


def fake_openml(monkeypatch: pytest.MonkeyPatch, data: pd.DataFrame, target: Any) -> list[dict[str, Any]]:
    """Answer in place of openml.org; the list fills with what was asked for."""
    asked: list[dict[str, Any]] = []

    def fetch(**wanted: Any) -> Bunch:
        asked.append(wanted)
        warnings.warn("a retry, say", stacklevel=1)  # of no use to a user
        return Bunch(data=data, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    return asked


def openml_frame() -> tuple[pd.DataFrame, pd.Series]:
    data = pd.DataFrame(
        {
            "u": np.arange(9.0),
            "colour": pd.Categorical(["red", "green", None] * 3),
            "number": 9 - np.arange(9),
        }
    )
    return data, pd.Series(pd.Categorical(["no", "yes"] * 4 + ["no"]), name="class")


def test_openml_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_openml(monkeypatch, *openml_frame())
    samples = ready("openml", id=61, encode="onehot", missing="drop")
    assert asked[0]["data_id"] == 61
    assert "name" not in asked[0]
    assert samples.features.shape == (6, 4)
    assert samples.left_out == 3
    assert set(samples.targets["classification"]) == {-1.0, 1.0}


def test_openml_by_name_and_another_target(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = fake_openml(monkeypatch, *openml_frame())
    samples = ready("openml", id="things", task="regression", target="number", drop=["colour", "class"])
    assert asked[0]["name"] == "things"
    assert "data_id" not in asked[0]
    assert samples.features.shape == (9, 1)
    np.testing.assert_array_equal(samples.targets["regression"], 9 - samples.order)


def test_openml_numbers_text_and_gaps_are_treated_as_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openml(monkeypatch, *openml_frame())
    with pytest.raises(DataError, match="column 'colour' contains text, 'red' in row 1"):
        ready("openml", id=61)
    with pytest.raises(DataError, match="3 of 9 rows"):
        ready("openml", id=61, encode="onehot")


@pytest.mark.parametrize("error", [URLError("no network"), ConnectionError("refused"), ValueError("no such dataset")])
def test_openml_out_of_reach_says_what_to_do_instead(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**wanted: Any) -> Bunch:
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DataError) as caught:
        ready("openml", id=61)
    for word in ("dataset 'things'", "61", str(error), "things.arff", "format = 'arff'", "source = 'file'"):
        assert word in str(caught.value)


def test_openml_dataset_without_a_target_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openml(monkeypatch, pd.DataFrame({"u": np.arange(9.0), "v": np.arange(9.0) ** 2}), None)
    with pytest.raises(DataError, match="target"):
        ready("openml", id=61, task="regression")
