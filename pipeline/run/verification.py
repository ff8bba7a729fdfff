"""Compare a run directory with its ledger and its plan: find missing, damaged, swapped and outdated parts."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kernel_pipeline.plan.data_identity import data_identity
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.failures import pending_tasks
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.checks import invalid_result_reason
from kernel_pipeline.run.planned_files import unplanned_files
from kernel_pipeline.run.released_kernels import released_kernels, removable_kernels
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS
from kernel_pipeline.store.digests import DAMAGED, IRREGULAR, size_of
from kernel_pipeline.store.inputs import PRECOMPUTED, SUMS, InputDigests, inputs_have_changed
from kernel_pipeline.store.ledger_entries import LedgerEntry
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.paths import LEDGER, REPEATS, TRIALS
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.store.storage import Storage

UNPLANNED = "unplanned"
"""Placeholder for the digest of a file that is not read, since it does not belong to the plan."""


@dataclass(frozen=True)
class Finding:
    """A part of a run, such as a file or a task, that fails verification."""

    key: str
    """Key of the file or folder, or name of the task."""
    what: str
    """What was found, as the rest of a sentence that begins with the key."""
    entry: str
    """Name of the ledger entry that the part belongs to; empty if it belongs to none."""

    def __str__(self) -> str:
        return f"{self.key} {self.what}"


@dataclass
class CheckReport:
    """The result of a check."""

    valid: LedgerState = field(default_factory=LedgerState)
    """The data and tasks that are finished, belong to the plan and have intact files. Failed tasks are included."""
    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    """Number of intact files."""
    outdated: list[str] = field(default_factory=list)
    """Names of entries that were finished with another config, other data or an older algorithm."""
    superseded: list[str] = field(default_factory=list)
    """Names of tasks whose inputs have since been recomputed with another result."""
    removed: list[str] = field(default_factory=list)
    """Names of intact entries whose files were removed on purpose, and are needed again by pending tasks."""
    lost: dict[str, LedgerEntry] = field(default_factory=dict)
    """Entries by name that belong to the plan, but are damaged, removed or superseded."""
    inputs: InputDigests = field(default_factory=InputDigests)
    """Digests of the inputs of tasks, as recorded in the ledger."""


def large_arrays(dataset: str) -> tuple[str, ...]:
    """Return the prefixes of the keys of those arrays of a dataset that tables do not need."""
    return (
        f"{GRAM}/{dataset}/gram/",
        f"{GRAM}/{dataset}/{TRIALS}/",
        f"{COMBINED}/{dataset}/",
        *(f"{DATA}/{dataset}/{name}/" for name in ("features", "columns", PRECOMPUTED, TRIALS)),
        *(f"{STATISTICS}/{dataset}/{name}/" for name in (SUMS, TRIALS, REPEATS)),
    )


def check(
    plan: Plan,
    recorded: LedgerState,
    arrays: Storage,
    full: bool,
    rerun: Container[str] = (),
    any_version: bool = False,
    is_running: bool = False,
) -> CheckReport:
    """Compare the ledger entries of the tasks and data of a plan with the plan and the stored files.

    Parameters
    ----------
    full
        Whether to read every byte; otherwise only sizes and stored checksums are compared.
    rerun
        Names of tasks that are to run again, even if the ledger records them as finished.
    any_version
        Whether entries of other versions of this package are valid too. They are when a run is read, but not when it
        is resumed.
    is_running
        Whether another process executes the run. It removes combined kernels after `recorded` was read, so these are
        not looked at.
    """
    kept = {name: report for name, report in recorded.tasks.items() if name not in rerun}
    recorded = replace(recorded, tasks=kept)
    report = CheckReport()
    cleaned = recorded.cleaned.datasets if recorded.cleaned else ()
    for dataset in plan.datasets:
        current = _current(dataset, recorded, any_version, report)
        up_to_date = _without_superseded(dataset, current, report)
        is_cleaned = dataset.name in cleaned
        removed = _removed(plan, dataset, recorded, is_cleaned)
        stored = partial(_check_stored, dataset, up_to_date, recorded, arrays, full, any_version, removed)
        found = stored(large_arrays(dataset.name)) if is_cleaned else CheckReport()
        if not is_cleaned or has_pending(dataset, found.valid):  # pending tasks need what was removed
            may_be_removed = removable_kernels(plan, dataset)
            found = stored(may_be_removed) if is_running else _check_needed(plan, dataset, up_to_date, stored)
        report.valid.update(found.valid)
        report.findings += found.findings
        report.removed += found.removed
        report.files += found.files
        valid = {entry.name for entry in found.valid.entries()}
        report.lost |= {entry.name: entry for entry in current.entries() if entry.name not in valid}
    return report


def has_pending(dataset: DatasetPlan, valid: LedgerState) -> bool:
    """Return whether a dataset has data that are not stored or tasks that are pending."""
    return dataset.name not in valid.data or bool(pending_tasks(dataset, valid.tasks))


def _current(dataset: DatasetPlan, recorded: LedgerState, any_version: bool, report: CheckReport) -> LedgerState:
    """Return the entries of a dataset that belong to the plan, and report the others as outdated."""
    known: list[tuple[LedgerEntry, str]] = []
    if stored := recorded.data.get(dataset.name):
        known.append((stored, data_identity(dataset)))
    for task in dataset.known_tasks(recorded.tasks):
        if found := recorded.tasks.get(task.name):
            known.append((found, task.identity))
    current = LedgerState()
    for entry, identity in known:
        if any_version or entry.identity == identity:
            current.add(entry)
        else:
            report.outdated.append(entry.name)
    return current


def _without_superseded(dataset: DatasetPlan, current: LedgerState, report: CheckReport) -> LedgerState:
    """Return the entries except for tasks whose inputs have changed since, and report these tasks as superseded.

    Damaged inputs are ignored, since recomputing them may give the same values.
    """
    for entry in current.entries():
        report.inputs.add(entry.digests)
    superseded = superseded_tasks(dataset, current.tasks, report.inputs)
    report.superseded += superseded
    left_out = set(superseded)
    return replace(current, tasks={name: done for name, done in current.tasks.items() if name not in left_out})


def superseded_tasks(dataset: DatasetPlan, finished: Mapping[str, TaskReport], inputs: InputDigests) -> list[str]:
    """Return the names of finished tasks whose inputs have changed since."""
    return [
        task.name
        for task in dataset.known_tasks(finished)
        if task.name in finished
        and finished[task.name].inputs
        and inputs_have_changed(finished[task.name].inputs, inputs.of(task))
    ]


def _removed(plan: Plan, dataset: DatasetPlan, recorded: LedgerState, is_cleaned: bool) -> tuple[str, ...]:
    """Return the prefixes of the keys of files that were removed on purpose, which may therefore be missing.

    Combined kernels are removed when their fits are finished, even if these fits are outdated or damaged by now.
    """
    kernels = released_kernels(plan, dataset, recorded.tasks)
    return kernels + large_arrays(dataset.name) if is_cleaned else kernels


def _check_needed(
    plan: Plan, dataset: DatasetPlan, current: LedgerState, stored: Callable[[tuple[str, ...]], CheckReport]
) -> CheckReport:
    """Check all files, except for combined kernels of fits that are finished and have valid results."""
    ignored = released_kernels(plan, dataset, current.tasks)
    while True:
        found = stored(ignored)
        still_ignored = released_kernels(plan, dataset, found.valid.tasks)
        if len(still_ignored) == len(ignored):
            return found
        ignored = still_ignored


def _check_stored(
    dataset: DatasetPlan,
    current: LedgerState,
    recorded: LedgerState,
    arrays: Storage,
    full: bool,
    any_version: bool,
    removed: tuple[str, ...],
    ignored: tuple[str, ...],
) -> CheckReport:
    """Check the files of entries.

    Parameters
    ----------
    removed
        Prefixes of the keys of files that may be missing. Entries with missing files among these are not valid.
    ignored
        Prefixes of the keys of files that are ignored, since no pending task needs them.
    """
    report, entries = CheckReport(), list(current.entries())
    wanted = {entry.name: [key for key in entry.digests if not key.startswith(ignored)] for entry in entries}
    # The layouts of other versions are not known, so only the digests of their files are compared.
    mismatched, unplanned = ({}, {}) if any_version else unplanned_files(dataset, entries, arrays, ignored)
    # One call for all files, since a remote store answers many concurrent requests in the time of one.
    digests = {key: entry.digests[key] for entry in entries for key in wanted[entry.name] if key not in unplanned}
    found = arrays.digests(digests, full, digests) | dict.fromkeys(unplanned, UNPLANNED)
    # A quick check does not read results, since the tables check them anyway.
    tasks = {task.name: task for task in dataset.known_tasks(recorded.tasks)} if full and not any_version else {}
    for entry in entries:
        absent = {key for key in wanted[entry.name] if not found[key] and key.startswith(removed)}
        checked = {key: found[key] for key in wanted[entry.name] if key not in absent}
        findings = list(_findings(entry, checked, mismatched | unplanned, recorded))
        if isinstance(entry, TaskReport) and entry.task in tasks:
            why = invalid_result_reason(dataset, tasks[entry.task], entry)
            what = f"contains an invalid result of {entry.task}: {why}"
            findings += [Finding(LEDGER, what, entry.name)] if why else []
        report.findings += findings
        if absent and not findings:
            report.removed.append(entry.name)
        elif not findings:
            report.valid.add(entry)
            report.files += len(wanted[entry.name])
    return report


def check_files(entry: LedgerEntry, root: Storage, recorded: LedgerState | None = None) -> Iterator[Finding]:
    """Yield the files of an entry that fail verification.

    Parameters
    ----------
    recorded
        The ledger, in which the owner of a file that was copied over another one is looked up.
    """
    return _findings(entry, root.digests(entry.digests, expected=entry.digests), {}, recorded or LedgerState())


def _findings(
    entry: LedgerEntry, found: Mapping[str, str], unplanned: Mapping[str, str], recorded: LedgerState
) -> Iterator[Finding]:
    for key, digest in found.items():
        if digest not in (entry.digests[key], UNPLANNED):
            yield Finding(key, _what(key, entry.digests[key], digest, recorded), entry.name)
        elif key in unplanned:
            yield Finding(key, unplanned[key], entry.name)


def _what(key: str, digest: str, found: str, recorded: LedgerState) -> str:
    """Describe how a file differs from the ledger."""
    if not found:
        return "is missing"
    if found == IRREGULAR:
        return "is not a regular file, or its path contains a link"
    owners = (other for entry in recorded.entries() for other, theirs in entry.digests.items() if theirs == found)
    if not found.startswith(DAMAGED) and (owner := next((other for other in owners if other != key), None)):
        return f"holds the content of {owner}"
    size, expected = size_of(found), size_of(digest)
    return "is damaged" if size == expected else f"is damaged: {size} bytes, not {expected}"
