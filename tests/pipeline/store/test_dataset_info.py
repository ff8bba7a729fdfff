from typing import Any

import pytest

from kernel_pipeline.store.dataset_info import MAX_COUNT, DatasetInfo

INFO = DatasetInfo("made", "f" * 64, 10, 2, 20, ("a", "b"), 0, ("columns 'x' are large",))


def test_values_read_back_as_the_same_facts() -> None:
    values = {key: list(value) if isinstance(value, tuple) else value for key, value in INFO.values().items()}
    assert DatasetInfo.of(values) == INFO


def test_a_run_of_an_earlier_version_named_the_columns_that_are_subtracted_directly() -> None:
    values = {key: value for key, value in INFO.values().items() if key != "notes"}
    assert DatasetInfo.of({**values, "direct": []}).notes == ()
    assert DatasetInfo.of({**values, "direct": ["x", "y\x1b"]}).notes == (
        "columns 'x', 'y\\x1b': their differences are computed directly",
    )


def test_control_characters_of_a_forged_note_are_escaped() -> None:
    assert DatasetInfo.of(INFO.values() | {"notes": ["\x1b[2J"]}).notes == ("\\x1b[2J",)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"notes": "text"}, "notes is not a list of texts"),
        ({"notes": [1]}, "notes is not a list of texts"),
        ({"kernels": [1]}, "kernels is not a list of texts"),
        ({"direct": 3}, "direct is not a list of texts"),
        ({"rows": "10"}, "rows is not of type"),
        ({"rows": True}, "rows is not of type"),
        ({"rows": -1}, "rows is -1"),
        ({"entries": MAX_COUNT + 1}, "entries is"),
        ({"name": 5}, "name is not of type"),
    ],
)
def test_values_of_another_form_are_refused(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        DatasetInfo.of(INFO.values() | changes)


def test_unknown_facts_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        DatasetInfo.of(INFO.values() | {"colour": "red"})
