"""The sources `sklearn`, `synthetic` and `openml`."""

import warnings
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.utils import Bunch

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.data.raw_table import read_source
from kernel_pipeline.errors import DataError
from tests.helpers.build import GAUSSIAN, config_values, parsed


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
    return prepare_dataset(config, config.dataset[0], Path("nowhere"))


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


def test_iris_with_two_species_as_the_positive_class() -> None:
    target = ready("sklearn", id="iris", positive=["versicolor", "virginica"]).targets["classification"]
    assert (target == 1).sum() == 100
    assert (target == -1).sum() == 50


@pytest.mark.parametrize(
    ("id_", "classes"),
    [
        ("iris", ["setosa", "versicolor", "virginica"]),
        ("wine", ["class_0", "class_1", "class_2"]),
        ("digits", [str(digit) for digit in range(10)]),
    ],
)
def test_datasets_of_several_classes_have_a_column_per_class(id_: str, classes: list[str]) -> None:
    samples, bunch = ready("sklearn", id=id_), getattr(datasets, f"load_{id_}")()
    assert samples.info.classes == tuple((label,) for label in classes)
    np.testing.assert_array_equal(samples.targets["classification"], np.eye(len(classes))[bunch.target[samples.order]])
    np.testing.assert_array_equal(samples.features, bunch.data[samples.order])


def test_linnerud_has_three_outputs() -> None:
    samples, bunch = ready("sklearn", id="linnerud", task="regression"), datasets.load_linnerud()
    assert samples.info.outputs == ("Weight", "Waist", "Pulse")
    np.testing.assert_array_equal(samples.targets["regression"], bunch.target[samples.order])
    np.testing.assert_array_equal(samples.features, bunch.data[samples.order])
    with pytest.raises(DataError, match=r"there are 3 target columns \(Weight, Waist, Pulse\)"):
        ready("sklearn", id="linnerud", task="classification")


def test_synthetic_is_friedmans_first_problem() -> None:
    dataset = dataset_of("synthetic", task="regression", rows=30, features=7, noise=0)
    table = read_source(dataset, Path("nowhere"), 0)
    x = table.features
    assert isinstance(x, np.ndarray)
    assert x.shape == (30, 7)
    expected = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    np.testing.assert_allclose(table.target.to_numpy(np.float64), expected)


def test_synthetic_depends_only_on_the_seed() -> None:
    dataset = dataset_of("synthetic", task="regression", rows=30)
    one, two, other = (read_source(dataset, Path("nowhere"), seed).features for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(np.asarray(one), np.asarray(other))


def test_synthetic_classes_are_the_sides_of_the_median() -> None:
    samples = ready("synthetic", rows=30, task="classification")
    assert np.bincount((samples.targets["classification"] > 0).astype(int)).tolist() == [15, 15]


def fake_openml(monkeypatch: pytest.MonkeyPatch, data: pd.DataFrame, target: Any) -> list[dict[str, Any]]:
    """Replace requests to openml.org; return a list to which the arguments of each request are appended."""
    asked: list[dict[str, Any]] = []

    def fetch(**wanted: Any) -> Bunch:
        asked.append(wanted)
        warnings.warn("a retry, say", stacklevel=1)  # not useful to users
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
    with pytest.raises(DataError, match="column 'colour' contains text: 'red' in data row 1"):
        ready("openml", id=61)
    with pytest.raises(DataError, match="3 of 9 rows"):
        ready("openml", id=61, encode="onehot")


@pytest.mark.parametrize("error", [URLError("no network"), ConnectionError("refused"), ValueError("no such dataset")])
def test_the_message_about_an_openml_failure_describes_how_to_use_a_file(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**wanted: Any) -> Bunch:
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fail)
    with pytest.raises(DataError) as caught:
        ready("openml", id=61)
    for word in ("dataset 'things'", "61", str(error), "things.arff", "format = 'arff'", "source = 'file'"):
        assert word in str(caught.value)


def test_openml_dataset_without_a_default_target(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_openml(monkeypatch, pd.DataFrame({"u": np.arange(9.0), "v": np.arange(9.0) ** 2}), None)
    with pytest.raises(DataError, match="target"):
        ready("openml", id=61, task="regression")
