from dataclasses import replace
from typing import Any

import pytest

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.store.dataset_info import MAX_COUNT, DatasetInfo

COLUMNS = FeatureColumns.of(["x", "color_red"], ["x", "color"], [0, 3])
INFO = DatasetInfo(
    "made",
    "f" * 64,
    10,
    2,
    20,
    ("a", "b"),
    0,
    classes=(("no",), ("yes", "y")),
    outputs=("u", "v"),
    notes=("columns 'x' are large",),
    features=COLUMNS,
    precomputed=((1.0,),),
)


def test_values_read_back_as_the_same_info() -> None:
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in INFO.to_json().items()}
    assert DatasetInfo.from_json(values) == INFO


def test_the_largest_training_set_is_stored_only_if_it_is_known() -> None:
    assert "largest_train" not in INFO.to_json()
    info = replace(INFO, largest_train=6)
    assert DatasetInfo.from_json(info.to_json()) == info


def test_a_run_of_an_earlier_version_did_not_store_the_names_of_features() -> None:
    values = {key: value for key, value in INFO.to_json().items() if key != "features"}
    assert DatasetInfo.from_json(values).features is None
    assert DatasetInfo.from_json(values).to_json() == values


def test_redundant_names_and_numbers_are_not_stored() -> None:
    plain = FeatureColumns.of(["x", "y"], ["x", "y"], [0, 1])
    assert plain.to_json() == {"names": ["x", "y"]}
    assert INFO.to_json()["features"] == {"names": ["x", "color_red"], "sources": ["x", "color"], "numbers": [0, 3]}


def test_a_run_of_an_earlier_version_named_the_columns_that_are_subtracted_directly() -> None:
    values = {key: value for key, value in INFO.to_json().items() if key != "notes"}
    assert DatasetInfo.from_json({**values, "direct": []}).notes == ()
    assert DatasetInfo.from_json({**values, "direct": ["x", "y\x1b"]}).notes == (
        "columns 'x', 'y\\x1b': their differences are computed directly",
    )


def test_control_characters_of_a_forged_note_are_escaped() -> None:
    assert DatasetInfo.from_json(INFO.to_json() | {"notes": ["\x1b[2J"]}).notes == ("\\x1b[2J",)
    forged = DatasetInfo.from_json(INFO.to_json() | {"features": {"names": ["\x1b[2J", "y"]}}).features
    assert forged is not None
    assert forged.names == ("\\x1b[2J", "y")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"notes": "text"}, "notes is not a list of strings"),
        ({"notes": [1]}, "notes is not a list of strings"),
        ({"kernels": [1]}, "kernels is not a list of strings"),
        ({"classes": "ab"}, "classes is not a list"),
        ({"classes": [["a"], "b"]}, "classes is not a list"),
        ({"classes": [["a"], [2]]}, "classes is not a list of strings"),
        ({"outputs": ["u", None]}, "outputs is not a list of strings"),
        ({"direct": 3}, "direct is not a list of strings"),
        ({"rows": "10"}, "rows is not of type"),
        ({"rows": True}, "rows is not of type"),
        ({"rows": -1}, "rows is -1"),
        ({"entries": MAX_COUNT + 1}, "entries is"),
        ({"name": 5}, "name is not of type"),
        ({"largest_train": "6"}, "largest_train is not a number"),
        ({"largest_train": True}, "largest_train is not a number"),
        ({"largest_train": -1}, "largest_train is -1"),
        ({"features": ["x", "y"]}, "features is not a table"),
        ({"features": {"names": ["x", "y"], "more": []}}, "features is not a table"),
        ({"features": {}}, "features is not a table of names"),
        ({"features": {"names": []}}, "features has 0 names for 2 columns"),
        ({"precomputed": 3}, "precomputed is not a list of lists"),
        ({"precomputed": [[]]}, "precomputed is not a list of lists"),
        ({"precomputed": [["1"]]}, "shift that is not a finite number"),
        ({"precomputed": [[float("nan")]]}, "shift that is not a finite number"),
        ({"precomputed": [[True]]}, "shift that is not a finite number"),
        ({"precomputed": [[0.0, 0.0], [0.0]]}, "precomputed has 3 kernels, kernels has 2"),
        ({"features": {"names": "xy"}}, "features.names is not a list of strings"),
        ({"features": {"names": ["x", 1]}}, "features.names is not a list of strings"),
        ({"features": {"names": ["x"]}}, "features has 1 names for 2 columns"),
        ({"features": {"names": ["x", "y"], "sources": ["x"]}}, "features has lists of different lengths"),
        ({"features": {"names": ["x", "y"], "sources": [0, 1]}}, "features.sources is not a list of strings"),
        ({"features": {"names": ["x", "y"], "numbers": [0]}}, "features has lists of different lengths"),
        (
            {"features": {"names": ["x", "y"], "numbers": [0, -1]}},
            "features.numbers is not a list of non-negative integers",
        ),
        (
            {"features": {"names": ["x", "y"], "numbers": [0, True]}},
            "features.numbers is not a list of non-negative integers",
        ),
    ],
)
def test_values_of_another_form_are_refused(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        DatasetInfo.from_json(INFO.to_json() | changes)


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        DatasetInfo.from_json(INFO.to_json() | {"colour": "red"})
