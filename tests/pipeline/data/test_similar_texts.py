"""Categories that differ only in spaces or capital letters are reported, since they are rarely meant to differ."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.build import load, put


def similar(folder: Path, texts: list[str], **dataset: Any) -> list[str]:
    lines = [f"{i * i % 7},{texts[i % len(texts)]},{'ab'[i % 2]}\n" for i in range(12)]
    put(folder, "v,vehicle,label\n" + "".join(lines))
    return [note for note in load(folder, encode="onehot", **dataset).notes if "different categories" in note]


@pytest.mark.parametrize("other", ["van ", "Van", "VAN"])
def test_a_note_names_the_column_and_both_texts(other: str, tmp_path: Path) -> None:
    (note,) = similar(tmp_path, ["van", other, "bus"])
    assert note.startswith("column 'vehicle' contains ")
    assert repr("van") in note
    assert repr(other) in note


def test_spaces_within_a_text_count_once(tmp_path: Path) -> None:
    assert len(similar(tmp_path, ["big van", "big  van"])) == 1


@pytest.mark.parametrize("texts", [["van", "vans", "bus"], ["big van", "bigvan"]])
def test_other_texts_are_not_reported(texts: list[str], tmp_path: Path) -> None:
    assert similar(tmp_path, texts) == []


def test_a_column_that_is_left_out_is_not_reported(tmp_path: Path) -> None:
    assert similar(tmp_path, ["van", "Van"], drop=["vehicle"]) == []
