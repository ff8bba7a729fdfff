"""Results in the ledger that no task can have written are reported as damage and computed again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext, conform
from kernel_pipeline.results.notes import result_notes
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.results.view import Results
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.run.verification import check
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.json_text import dump_json
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import note

FIT = "fits/wave/regression/unif/1"
FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "a path that is not an object": (FIT, {"status": "ok", "path": 3, "at_edge": True}),
    "a path that is missing": (FIT, {"status": "ok", "at_edge": True}),
    "a path without values": (FIT, {"status": "ok", "path": {"best": 0}, "at_edge": False}),
    "weights of other trials": ("weights/wave/regression/alignf/0-2", {"trials": {"7": {"n_kernels": 5}}}),
    "weights without kernels": ("weights/wave/regression/alignf/0-2", {"trials": {str(t): {} for t in range(3)}}),
    "kernels that do not exist": ("reduce/wave/regression", {"flat": {"count": 1, "first": [[99, [0]]]}}),
}


def forge(root: Path, name: str, result: dict[str, Any]) -> LedgerState:
    """Replace the result of a ledger entry, and return all entries."""
    entry = Ledger(LocalStorage(root)).read().tasks[name]
    note(root, replace(entry, result_json=dump_json(result)))
    return Ledger(LocalStorage(root)).read()


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_result_is_damage(root: Path, plan: Plan, forgery: str) -> None:
    name, result = FORGED[forgery]
    finished = forge(root, name, result)
    context = TableContext(plan, finished.tasks, RunStore(LocalStorage(root)))
    with pytest.raises(DamagedError, match=f"the ledger contains an invalid result of {name}: "):
        _ = [frame for table in TABLES for frame in context.frames(table)]
    report = check(plan, finished, LocalStorage(root), full=True)
    assert [finding.entry for finding in report.findings] == [name]
    assert name not in report.valid.tasks
    assert name in report.lost
    found = verify_run(LocalStorage(root))
    assert found.exit_code == 4
    said = "\n".join(map(str, found.findings))
    assert f"ledger.jsonl contains an invalid result of {name}: " in said


def test_notes_also_detect_invalid_results(root: Path, plan: Plan) -> None:
    with pytest.raises(DamagedError, match=FIT):
        result_notes(plan, forge(root, *FORGED["a path that is not an object"]).tasks)


def test_a_table_has_the_columns_that_it_declares(root: Path, plan: Plan) -> None:
    context = TableContext(plan, Ledger(LocalStorage(root)).read().tasks, RunStore(LocalStorage(root)))
    for name, table in TABLES.items():
        for frame in context.frames(name):
            types = {column.name: column.pandas_type for column in table.columns}
            assert list(frame.columns) == [column for column in types if column in frame]
            assert set(types) - set(frame.columns) <= set(table.optional)
            assert all(str(frame[column].dtype) == types[str(column)] for column in frame if types[str(column)]), name
    rows = context.required_table("rows")
    copied = Results(context).table("rows")
    assert copied is not None
    copied["error"] = 0.0
    assert (rows["error"] > 0).any()
    with pytest.raises(ValueError, match="have the unknown column 'mine'"):
        conform(TABLES["rows"], rows.assign(mine=1))
    with pytest.raises(ValueError, match="lack the column 'error'"):
        conform(TABLES["rows"], rows.drop(columns="error"))
