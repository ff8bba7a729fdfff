"""The tables of the report about the run."""

from types import SimpleNamespace
from typing import Any

from kernel_pipeline.plan.notes import Note
from kernel_pipeline.results.report.run_tables import note_table


def context(*notes: Note) -> Any:
    return SimpleNamespace(plan=SimpleNamespace(notes=lambda: notes[:1]), notes=notes[1:])


def test_empty_columns_of_the_notes_are_left_out() -> None:
    about_data, about_problem = Note("wave", "2 rows are left out"), Note("wave", "at edge", "regression")
    found = note_table(context(about_data, about_data))
    assert found is not None
    assert (found.columns, found.text_columns) == (("dataset", "note"), 2)
    found = note_table(context(about_data, about_problem))
    assert found is not None
    assert found.columns == ("dataset", "task", "note")
    assert [[cell.text for cell in row] for row in found.rows] == [
        ["wave", "", "2 rows are left out"],
        ["wave", "regression", "at edge"],
    ]
    assert note_table(context()) is None
