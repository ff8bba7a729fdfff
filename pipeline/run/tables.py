"""Write the tables, the figures and the report of a run, unless those that exist are up to date."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.figures.rendering import render_figures
from kernel_pipeline.results.registered_files import TABLES_VERSION, registered_versions
from kernel_pipeline.results.report.page import report_page
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.results.view import Results
from kernel_pipeline.results.writing import write_figures, write_tables
from kernel_pipeline.run.verification import check_files
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import TablesEntry
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.paths import REPORT
from kernel_pipeline.store.storage import Storage


@dataclass(frozen=True)
class RunTables:
    """The tables and notes that are shown at the end of a run."""

    rows: pd.DataFrame
    summary: pd.DataFrame
    notes: Sequence[Note]


def update_tables(
    root: Storage, store: RunStore, plan: Plan, finished: LedgerState, ledger: Ledger, fence: Fence
) -> RunTables:
    """Return the rows, their summary and the notes; write tables, figures and report if they are not up to date.

    Raises
    ------
    DamagedError
        If an array or a result in the ledger is not what a task has written.
    """
    entry, identity = ledger.read().tables, tables_identity(plan, finished)
    context = TableContext(plan, finished.tasks, store.fresh_copy())
    notes = context.notes
    if entry and entry.identity == identity and not any(check_files(entry, root)):
        rows = read_rows(root)
        return RunTables(rows, summarise(rows), notes)
    fence.check()
    for name in TABLES:
        context.frames(name)
    check_read(context.store.access.read, finished)
    written = list(write_tables(root, context))
    figures = list(render_figures(Results(context)))
    check_read(context.store.access.read, finished)  # some tables are too large to be built before they are written
    written += write_figures(root, figures)
    root.write(REPORT, report_page(context, figures, recorded_environment(ledger.read())))
    written.append(REPORT)
    _remove_old(root, entry.digests if entry else {}, written)
    fence.check()
    digests = {key: digest for key, digest in root.digests(written).items() if digest}
    ledger.append(TablesEntry(identity=identity, digests=digests, sweep=plan.identity))
    rows = context.required_table("rows")
    return RunTables(rows, summarise(rows), notes)


def recorded_environment(finished: LedgerState) -> dict[str, object]:
    """Return the environment that the ledger has recorded; empty if it has none."""
    found: dict[str, object] = parse_json(finished.sweep.environment.encode()) if finished.sweep else {}
    return found


def tables_identity(plan: Plan, finished: LedgerState) -> str:
    """Return a digest of everything that tables and figures depend on.

    These are the plan, the finished tasks, and the registered tables and figures.
    """
    done = sorted((entry.name, entry.identity, entry.seconds) for entry in finished.entries())
    content = [TABLES_VERSION, plan.identity, done, registered_versions()]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def check_read(read: Mapping[str, str], finished: LedgerState) -> None:
    """Raise a `DamagedError` for a chunk that was read and differs from the ledger."""
    for entry in finished.entries():
        for key, digest in entry.digests.items():
            if read.get(key, digest) != digest:
                raise DamagedError(f"{key} differs from the ledger")


def _remove_old(root: Storage, before: Mapping[str, str], written: Iterable[str]) -> None:
    """Remove files that the run wrote before and no longer has, such as those of a table that was removed."""
    old = {key: digest for key, digest in before.items() if key not in set(written)}
    for key, digest in root.digests(old, expected=old).items():
        if digest == old[key]:  # otherwise another program changed the file
            root.remove(key)
