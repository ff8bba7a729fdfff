"""The tables of a run: written once all tasks are done, and only if those that are there are not of these tasks."""

import hashlib
import json
from collections.abc import Mapping

import pandas as pd

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.summary import summarise, write_summary
from kernel_pipeline.results.tables import TABLES_VERSION, read_rows, table_digests, write_tables
from kernel_pipeline.run.verification import TABLES, check_files
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root


def update_tables(
    root: Root, store: RunStore, plan: Plan, finished: dict[str, Finished], ledger: Ledger, fence: Fence
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows and their summary; the tables are written, unless they are there and would be the same."""
    entry, built_from = ledger.read().get(TABLES), tables_identity(plan, finished)
    if entry and entry.identity == built_from and not any(check_files(entry, {}, root)):
        rows = read_rows(root)
        return rows, summarise(rows)
    fence.check()
    arrays = store.anew()
    rows = write_tables(root, arrays, plan, finished)
    check_read(arrays.access.read, finished)
    summary = summarise(rows)
    write_summary(root, summary)
    fence.check()
    ledger.append(Finished(TABLES, built_from, table_digests(root), {"sweep": plan.identity}, 0.0, 0))
    return rows, summary


def tables_identity(plan: Plan, finished: Mapping[str, Finished]) -> str:
    """Return a digest of what tables are made of: the very runs of tasks that are finished."""
    done = [(name, entry.identity, entry.seconds) for name, entry in sorted(finished.items())]
    return hashlib.sha256(json.dumps([TABLES_VERSION, plan.identity, done]).encode()).hexdigest()[:16]


def check_read(read: Mapping[str, str], finished: Mapping[str, Finished]) -> None:
    """Raise a `DamagedError` for a chunk that was read and is not what the ledger says."""
    for entry in finished.values():
        for key, digest in entry.digests.items():
            if read.get(key, digest) != digest:
                raise DamagedError(f"{key} holds other values than the ledger says")
