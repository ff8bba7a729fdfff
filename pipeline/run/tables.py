"""The tables and figures of a run: written when all tasks are done, unless those that exist are up to date."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.outputs import TABLES_VERSION, extensions
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.results.table import TABLES as REGISTERED
from kernel_pipeline.results.writing import write_figures, write_tables
from kernel_pipeline.run.verification import TABLES, check_files
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage


@dataclass(frozen=True)
class RunTables:
    """What is shown at the end of a run."""

    rows: pd.DataFrame
    summary: pd.DataFrame
    notes: Sequence[Note]


def update_tables(
    root: Storage, store: RunStore, plan: Plan, finished: Mapping[str, Finished], ledger: Ledger, fence: Fence
) -> RunTables:
    """Return the rows, their summary and the notes, and write all tables and figures that are not up to date.

    Raises
    ------
    DamagedError
        If an array or a result in the ledger is not what a task has written.
    """
    entry, identity = ledger.read().get(TABLES), tables_identity(plan, finished)
    context = TableContext(plan, finished, store.anew())
    notes = context.notes
    if entry and entry.identity == identity and not any(check_files(entry, {}, root)):
        rows = read_rows(root)
        return RunTables(rows, summarise(rows), notes)
    fence.check()
    for name in REGISTERED:
        context.frames(name)
    check_read(context.store.access.read, finished)
    written = [*write_tables(root, context), *write_figures(root, context)]
    _remove_old(root, entry.digests if entry else {}, written)
    fence.check()
    digests = {key: digest for key, digest in root.digests(written).items() if digest}
    ledger.append(Finished(TABLES, identity, digests, {"sweep": plan.identity}, 0.0, 0))
    rows = context.whole("rows")
    return RunTables(rows, summarise(rows), notes)


def tables_identity(plan: Plan, finished: Mapping[str, Finished]) -> str:
    """Return a digest of what tables and figures are made of: the finished tasks, and what is registered."""
    done = [(name, entry.identity, entry.seconds) for name, entry in sorted(finished.items())]
    added = [found] if (found := extensions()) else []
    return hashlib.sha256(json.dumps([TABLES_VERSION, plan.identity, done, *added]).encode()).hexdigest()[:16]


def check_read(read: Mapping[str, str], finished: Mapping[str, Finished]) -> None:
    """Raise a `DamagedError` for a chunk that was read and differs from the ledger."""
    for entry in finished.values():
        for key, digest in entry.digests.items():
            if read.get(key, digest) != digest:
                raise DamagedError(f"{key} holds other values than the ledger says")


def _remove_old(root: Storage, before: Mapping[str, str], written: Iterable[str]) -> None:
    """Remove files that the run wrote before and does not have any more, such as those of a table that is gone."""
    old = {key: digest for key, digest in before.items() if key not in set(written)}
    for key, digest in root.digests(old, expected=old).items():
        if digest == old[key]:  # else it is not what the run wrote
            root.remove(key)
