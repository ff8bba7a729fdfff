"""Build the tables of a run from its directory alone, even if the run is executing or unfinished."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pandas as pd

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.plan.failures import pending_tasks
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.context import PENDING, TableContext
from kernel_pipeline.results.stored_tables import read_correlation
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.run_results import RunResults
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.run.verification import check
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.reports import OK
from kernel_pipeline.store.storage import Storage


@contextmanager
def finished_tables(manifest: Manifest, plan: Plan) -> Iterator[TableContext]:
    """Provide the tables of a run from its finished tasks; cells without a result have the status `PENDING`.

    Raises
    ------
    RefusedError
        If results that were used are damaged.
    """
    found = check(plan, manifest.finished, manifest.arrays(), full=False, any_version=not manifest.is_current).valid
    pending = set().union(*(pending_tasks(dataset, found.tasks) for dataset in plan.datasets))
    context = TableContext(plan, found.tasks, RunStore(manifest.arrays()), pending)
    try:
        yield context
        check_read(context.store.access.read, found)
    except DamagedError as error:
        raise RefusedError(f"{error}. {_hint(manifest)}") from None


@dataclass(frozen=True)
class FinishedRows:
    """The tables that comparisons need, from the finished tasks of a run."""

    root: Storage
    config: Config
    rows: pd.DataFrame
    """The table `rows`, without the cells that have no result."""
    correlation: pd.DataFrame | None
    pending: int
    """Number of cells that have not been run."""
    failed: int
    """Number of cells that failed."""

    @property
    def notes(self) -> list[str]:
        """Return sentences that state what is missing; empty if nothing is."""
        total, run = len(self.rows) + self.pending + self.failed, quoted(self.root)
        lines = []
        if self.pending:
            lines.append(
                f"note: {self.root} is not finished: {self.pending:,} of {total:,} cells have no result yet and are "
                f"left out. `pipeline resume {run}` resumes the run"
            )
        if self.failed:
            lines.append(
                f"note: {self.failed:,} of {total:,} cells of {self.root} failed and are left out. `pipeline status "
                f"{run}` shows why"
            )
        return lines


def read_finished_rows(root: Storage) -> FinishedRows:
    """Read the results of the finished cells of a run.

    Raises
    ------
    RefusedError
        If `root` is not a run directory, has no results yet, or is damaged.
    """
    manifest = read_manifest(root)
    if manifest.is_complete:
        rows, correlation = RunResults(root).rows, read_correlation(root)
    elif (plan := manifest.plan()) is None:
        raise RefusedError(
            f"{root} has no results yet: its data are not stored. `pipeline resume {quoted(root)}` resumes the run"
        )
    else:
        with finished_tables(manifest, plan) as context:
            rows, correlation = context.required_table("rows"), context.table("correlation")
    is_pending, is_finished = rows["status"] == PENDING, rows["status"] == OK
    failed = int((~is_pending & ~is_finished).sum())
    return FinishedRows(root, manifest.config, rows[is_finished], correlation, int(is_pending.sum()), failed)


def _hint(manifest: Manifest) -> str:
    """Return the command that recomputes missing or damaged results."""
    root = quoted(manifest.root)
    if manifest.is_current:
        return f"`pipeline verify {root} --repair` computes it again"
    return (
        f"The run was written by an earlier version (format {manifest.format}); `pipeline resume {root}` computes all "
        f"of it again, in format {FORMAT}"
    )
