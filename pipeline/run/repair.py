"""Verify a run directory byte by byte, and recompute the parts that fail verification."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.config.loading import load_toml
from kernel_pipeline.errors import FailedError, RefusedError
from kernel_pipeline.events import Emitter, Listener
from kernel_pipeline.plan.failures import pending_tasks
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.driver import Run
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.foreign_files import FOREIGN, foreign_files, remove_temporary_files
from kernel_pipeline.run.manifest import check_format, no_run_directory, read_manifest, restore_manifest
from kernel_pipeline.run.options import Options
from kernel_pipeline.run.storage_errors import storage_errors
from kernel_pipeline.run.sweeps import load_run, make_emitter
from kernel_pipeline.run.tables import tables_identity
from kernel_pipeline.run.verification import CheckReport, Finding, check, check_files, has_pending
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import DATA
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.logs import driver_log
from kernel_pipeline.store.paths import LEDGER, RESULTS
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.store.storage import Storage


@dataclass(frozen=True)
class Verification:
    """Result of reading every byte of a run."""

    root: Storage
    findings: Sequence[Finding]
    files: int
    """Number of intact files."""
    is_current: bool
    """Whether the run has the format that this version writes."""
    outdated: int
    """Number of pending tasks that were finished with another config, other data or an older algorithm."""
    removed: int
    """Number of pending tasks whose files were removed on purpose, and are needed again."""

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return RefusedError.exit_code if self.findings else 0

    @property
    def foreign(self) -> int:
        """Number of files that the ledger does not name."""
        return sum(finding.what == FOREIGN for finding in self.findings)


@dataclass(frozen=True)
class Repair:
    """Result of a repair."""

    repaired: int
    """Number of findings that were repaired: damaged, missing or swapped files, and tasks whose inputs have changed."""
    failed: dict[str, str]
    """Reasons why recomputed tasks failed, by the name of the task."""
    foreign: int
    """Number of files that the ledger does not name; they are left in place."""

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return FailedError.exit_code if self.failed else 0


def verify_run(root: Storage) -> Verification:
    """Read every byte of a run, and find everything that differs from what was written."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    if (held := root.holder()) is not None:
        raise RefusedError(
            f"{root} is in use by {held}; files that are being written would appear damaged. Wait until it ends"
        )
    manifest = read_manifest(root)
    plan = manifest.plan()
    arrays, ledger = manifest.arrays(), Ledger(root)
    report = (
        check(plan, manifest.finished, arrays, full=True, any_version=not manifest.is_current)
        if plan
        else CheckReport()
    )
    unfinished = _is_unfinished(plan, report.valid.tasks)
    others = _other_findings(root, arrays, manifest.finished, ledger, unfinished)
    findings = [*report.findings, *_superseded(report), *others]
    if plan and manifest.is_current and not findings:
        findings += _outdated_tables(plan, report, manifest.finished)
    findings += [Finding(LEDGER, f"line {number} was lost in a power cut", "") for number in ledger.zeroed()]
    if not ledger.journal.exists():
        findings.insert(0, Finding(LEDGER, "is missing, so nothing records what is finished", ""))
    pending = set().union(*(pending_tasks(dataset, report.valid.tasks) for dataset in plan.datasets)) if plan else set()
    return Verification(
        root,
        findings,
        report.files,
        manifest.is_current,
        outdated=len(pending.intersection(report.outdated)),
        removed=len(pending.intersection(report.removed)),
    )


def restore_run(root: Storage, listeners: Sequence[Listener] = ()) -> None:
    """Remove lines that are not ledger lines from the ledger, and restore the config and the environment from it."""
    emit, version = Emitter(listeners), check_format(root)
    if version != FORMAT:
        raise RefusedError(
            f"{root} was written by an earlier version (format {version}), so its parts cannot be repaired one by one. "
            f"`pipeline resume {quoted(root)}` computes the whole run again, in format {FORMAT}"
        )
    if not root.journal().exists():
        return
    with root.locked():
        ledger = Ledger(root)
        for number in ledger.drop_garbage():
            emit.notice(f"{LEDGER}, line {number} is not a ledger line and is removed")
        for name in restore_manifest(root, ledger):
            emit.notice(f"{name} is restored")


def repair_run(root: Storage, data_dir: Path | None, options: Options, listeners: Sequence[Listener] = ()) -> Repair:
    """Recompute everything that differs from what was written.

    Outdated tasks of an intact run are left as they are. If a complete run is damaged, they are recomputed too.
    """
    if not is_run_directory(root):
        raise no_run_directory(root)
    emit = make_emitter(listeners)
    with root.locked() as token:
        run = load_run(root, data_dir, options, emit, token)
        arrays = run.store.root
        remove_temporary_files(root, arrays)
        recorded = run.ledger.read()
        # In a complete run, everything that is missing was lost; in others, some of it was never computed.
        was_complete = read_manifest(root, run.ledger).is_complete or not recorded.tasks
        with driver_log(root), storage_errors(run), run.guarded():
            report = run.check(full=True)
            others = _other_findings(root, arrays, recorded, run.ledger, _is_unfinished(run.plan, report.valid.tasks))
            for finding in (*report.findings, *_superseded(report), *others):
                emit.notice(str(finding))
            if not was_complete or _needs_repair(run, report, others):
                run.retry_on_damage(lambda: run.execute(run.pending if was_complete else run.pending_repairs))
            if not run.pending():
                run.retry_on_damage(run.tables)
            foreign = _foreign(root, arrays, run.ledger, _is_unfinished(run.plan, run.finished.tasks))
    recomputed = {name: run.finished.tasks[name] for name in sorted(run.damaged & run.finished.tasks.keys())}
    return Repair(
        repaired=len(report.findings) + len(report.superseded) + len(others) - len(foreign),
        failed={name: report.failures[0] for name, report in recomputed.items() if report.failures},
        foreign=len(foreign),
    )


def _needs_repair(run: Run, report: CheckReport, others: Sequence[Finding]) -> bool:
    """Return whether a complete run has damage to repair.

    Tasks that are outdated, or whose files were removed on purpose, are left to a resumed run.
    """
    if report.findings or report.superseded or any(finding.what != FOREIGN for finding in others):
        return True
    datasets = {f"{DATA}/{dataset.name}" for dataset in run.plan.datasets if dataset.name not in run.finished.data}
    return not (run.pending() | datasets) <= {*report.outdated, *report.removed}


def _is_unfinished(plan: Plan | None, tasks: Mapping[str, TaskReport]) -> bool:
    done = {name for name, done in tasks.items() if not done.failed}
    return plan is None or any(task.name not in done for task in plan.tasks)


def _superseded(report: CheckReport) -> list[Finding]:
    what = "was computed from results that have changed since"
    return [Finding(name, what, name) for name in report.superseded]


def _outdated_tables(plan: Plan, report: CheckReport, recorded: LedgerState) -> list[Finding]:
    """Return a finding if the tables of a finished run were made from results that are no longer current."""
    tables = recorded.tables
    if tables is None or any(has_pending(dataset, report.valid) for dataset in plan.datasets):
        return []
    is_current = tables.identity == tables_identity(plan, report.valid)
    return [] if is_current else [Finding(RESULTS, "contains tables of an earlier state of this run", tables.name)]


def _other_findings(
    root: Storage, arrays: Storage, recorded: LedgerState, ledger: Ledger, unfinished: bool
) -> list[Finding]:
    """Check the files that no task wrote: manifest, tables and foreign files."""
    known = [entry for entry in (recorded.sweep, recorded.tables) if entry]
    findings = [finding for entry in known for finding in check_files(entry, root, recorded)]
    return findings + _foreign(root, arrays, ledger, unfinished)


def _foreign(root: Storage, arrays: Storage, ledger: Ledger, unfinished: bool) -> list[Finding]:
    return foreign_files(root, arrays, ledger.named_files(), unfinished, _abandoned_datasets(ledger))


def _abandoned_datasets(ledger: Ledger) -> set[str]:
    """Return the datasets of all configs of a run if there were several, since a change may not have been completed."""
    sweeps = ledger.sweeps()
    if len({sweep.identity for sweep in sweeps}) < 2:
        return set()
    configs = [load_toml(sweep.config) for sweep in sweeps]
    return {dataset["name"] for config in configs for dataset in config["dataset"]}
