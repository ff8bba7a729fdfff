"""What of a run directory is as its ledger says, and what is not: missing, damaged, swapped, foreign or outdated."""

import re
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field

from kernel_pipeline.plan.data_identity import data_identity
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import DatasetPlan, Plan
from kernel_pipeline.results.checks import result_problem
from kernel_pipeline.results.outputs import output_files
from kernel_pipeline.run.planned_files import unplanned_files
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS
from kernel_pipeline.store.digests import DAMAGED, IRREGULAR
from kernel_pipeline.store.files import is_temporary
from kernel_pipeline.store.inputs import InputDigests, is_built_on_others
from kernel_pipeline.store.keys import array_of
from kernel_pipeline.store.ledger_entries import CLEANED as CLEANED
from kernel_pipeline.store.ledger_entries import TABLES as TABLES
from kernel_pipeline.store.ledger_entries import data_entry as data_entry
from kernel_pipeline.store.paths import FIGURES, GROUPS, LEDGER, RESULTS
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage

FOREIGN = "belongs to no finished task"
UNPLANNED = "unplanned"
"""In the place of the digest of a file that is not read, since it is not one of the plan."""
ARRAY_PART = re.compile(r"[^/]+\.zarr/([^/]+)(?:/[^/]+)*?/(?:zarr\.json|c(?:/\d+)*)")
"""Keys of what zarr writes for an array or a group of a dataset, whose name is the group."""


@dataclass(frozen=True)
class Problem:
    """A stored file that is not what the ledger says."""

    key: str
    what: str
    entry: str
    """The name of what wrote it and can write it again; empty for a file that nothing wrote."""

    def __str__(self) -> str:
        return f"{self.key} {self.what}"


@dataclass
class CheckReport:
    """What holds, and what does not."""

    valid: dict[str, Finished] = field(default_factory=dict)
    """What is finished, belongs to the plan, and whose files are there; also what failed and is set aside."""
    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    """How many files were found as they were written."""
    outdated: list[str] = field(default_factory=list)
    """What was finished under another config, other data or an older algorithm."""
    superseded: list[str] = field(default_factory=list)
    """What was built on something that has since been computed again with another result."""
    lost: dict[str, Finished] = field(default_factory=dict)
    """What was finished and belongs to the plan, but is not valid: damaged or superseded."""
    inputs: InputDigests = field(default_factory=InputDigests)
    """The digests of what tasks read, as the ledger has them."""


def big_arrays(dataset: str) -> tuple[str, ...]:
    """Where the arrays of a dataset are that tables do not need."""
    return (
        f"{GRAM}/{dataset}/gram/",
        f"{COMBINED}/{dataset}/",
        f"{DATA}/{dataset}/",
        f"{STATISTICS}/{dataset}/sums/",
    )


def check(
    plan: Plan,
    recorded: Mapping[str, Finished],
    arrays: Storage,
    full: bool,
    again: Container[str] = (),
    any_version: bool = False,
) -> CheckReport:
    """Compare what the ledger says about a plan's tasks and data with the plan and the files.

    Parameters
    ----------
    again
        Names of what is to be done again, whatever the ledger says.
    any_version
        Whether what other versions of this software did counts as well: to read a run, not to resume it.
    """
    recorded = {name: entry for name, entry in recorded.items() if name not in again}
    report = CheckReport()
    cleaned = recorded[CLEANED].result["datasets"] if CLEANED in recorded else []
    for dataset in plan.datasets:
        without = big_arrays(dataset.name) if dataset.name in cleaned else ()
        current = _current(dataset, recorded, any_version, report)
        sound = _built_on_what_is_there(dataset, current, report)
        found = _check_stored(dataset, sound, recorded, arrays, full, without, any_version)
        if without and is_left(dataset, found.valid):  # it needs what was removed
            found = _check_stored(dataset, sound, recorded, arrays, full, (), any_version)
        report.valid |= found.valid
        report.problems += found.problems
        report.files += found.files
        report.lost |= {entry.name: entry for entry in current if entry.name not in found.valid}
    return report


def is_left(dataset: DatasetPlan, valid: Mapping[str, Finished]) -> bool:
    """Whether anything is to do."""
    names = {data_entry(dataset.name), *(task.name for task in dataset.known_tasks(valid))}
    return bool(names - valid.keys() - failures(dataset, valid).keys())


def _current(
    dataset: DatasetPlan, recorded: Mapping[str, Finished], any_version: bool, report: CheckReport
) -> list[Finished]:
    """What is finished of a dataset and belongs to the plan; what does not is noted as outdated."""
    expected = {data_entry(dataset.name): data_identity(dataset)}
    expected |= {task.name: task.identity for task in dataset.known_tasks(recorded)}
    known = [recorded[name] for name in expected if name in recorded]
    report.outdated += [e.name for e in known if not any_version and e.identity != expected[e.name]]
    return [entry for entry in known if any_version or entry.identity == expected[entry.name]]


def _built_on_what_is_there(dataset: DatasetPlan, current: list[Finished], report: CheckReport) -> list[Finished]:
    """Leave out what was built on something else than the ledger has now.

    Damage does not count: what is damaged may well come out the same when it is computed again.
    """
    for entry in current:
        report.inputs.add(entry.digests)
    superseded = superseded_tasks(dataset, {entry.name: entry for entry in current}, report.inputs)
    report.superseded += superseded
    return [entry for entry in current if entry.name not in set(superseded)]


def superseded_tasks(dataset: DatasetPlan, finished: Mapping[str, Finished], inputs: InputDigests) -> list[str]:
    """The names of finished tasks that were built on something that has since changed."""
    return [
        task.name
        for task in dataset.known_tasks(finished)
        if task.name in finished
        and finished[task.name].inputs
        and is_built_on_others(finished[task.name].inputs, inputs.of(task))
    ]


def _check_stored(
    dataset: DatasetPlan,
    current: list[Finished],
    recorded: Mapping[str, Finished],
    arrays: Storage,
    full: bool,
    without: tuple[str, ...],
    any_version: bool,
) -> CheckReport:
    report = CheckReport()
    wanted = {entry.name: [key for key in entry.digests if not key.startswith(without)] for entry in current}
    # Layouts of other versions are not known here; nothing but digests is read of them.
    misdescribed, unplanned = ({}, {}) if any_version else unplanned_files(dataset, current, arrays, without)
    # All at once: a place that is far away answers many questions in the time of one.
    digests = {key: entry.digests[key] for entry in current for key in wanted[entry.name] if key not in unplanned}
    found = arrays.digests(digests, full, digests) | dict.fromkeys(unplanned, UNPLANNED)
    # A quick check leaves results to the tables, which parse them anyway.
    tasks = {task.name: task for task in dataset.known_tasks(recorded)} if full and not any_version else {}
    for entry in current:
        checked = {key: found[key] for key in wanted[entry.name]}
        problems = list(_problems(entry, recorded, checked, misdescribed | unplanned))
        if entry.name in tasks and (why := result_problem(dataset, tasks[entry.name], entry)):
            problems.append(Problem(LEDGER, f"holds a result of {entry.name} that no task writes: {why}", entry.name))
        report.problems += problems
        if not problems:
            report.valid[entry.name] = entry
            report.files += len(wanted[entry.name])
    return report


def check_files(entry: Finished, recorded: Mapping[str, Finished], root: Storage) -> Iterator[Problem]:
    """The files of an entry that are not as it says."""
    return _problems(entry, recorded, root.digests(entry.digests, expected=entry.digests), {})


def _problems(
    entry: Finished, recorded: Mapping[str, Finished], found: Mapping[str, str], unplanned: Mapping[str, str]
) -> Iterator[Problem]:
    for key, digest in found.items():
        if digest not in (entry.digests[key], UNPLANNED):
            yield Problem(key, _what(key, entry.digests[key], digest, recorded), entry.name)
        elif key in unplanned:
            yield Problem(key, unplanned[key], entry.name)


def _what(key: str, digest: str, found: str, recorded: Mapping[str, Finished]) -> str:
    if not found:
        return "is missing"
    if found == IRREGULAR:
        return "is not a regular file, or lies behind a link"
    owners = (other for entry in recorded.values() for other, theirs in entry.digests.items() if theirs == found)
    if not found.startswith(DAMAGED) and (owner := next((other for other in owners if other != key), None)):
        return f"holds what belongs to {owner}"
    size, expected = found.rpartition(":")[2], digest.rpartition(":")[2]
    return "is damaged" if size == expected else f"is damaged: {size} bytes, not {expected}"


def stored_files(root: Storage, arrays: Storage) -> Iterator[str]:
    """The keys of all files of the arrays, tables and figures of a run."""
    for group in GROUPS:
        yield from arrays.keys(group)
    yield from root.keys(RESULTS)
    yield from root.keys(FIGURES)


def foreign_files(
    root: Storage, arrays: Storage, named: Collection[str], unfinished: bool = False, abandoned: Container[str] = ()
) -> list[Problem]:
    """Files among arrays and tables that no line of the ledger names.

    Parameters
    ----------
    unfinished
        Whether tasks are still to do, or failed: they may have left chunks of arrays that are known. Tables without a
        line of their own are then those of an earlier end of the run, and are written again at its next end.
    abandoned
        Names of datasets: a change of the config that was given up may have left parts of their arrays.
    """
    outputs = output_files() if unfinished and named else ()
    return [
        Problem(key, FOREIGN, "")
        for key in sorted(stored_files(root, arrays))
        if key not in named
        and not (unfinished and f"{array_of(key)}/zarr.json" in named)
        and key not in outputs
        and not ((part := ARRAY_PART.fullmatch(key)) and part[1] in abandoned)
    ]


def is_own(key: str, named: Container[str]) -> bool:
    """Return whether a run wrote a file among its arrays: named by the ledger, or left by a task that did not end."""
    return key in named or f"{array_of(key)}/zarr.json" in named or is_temporary(key.rpartition("/")[2])


def sweep_temporary_files(root: Storage, arrays: Storage | None) -> None:
    """Remove what writers that were killed left half-written: among the arrays too, where work was to do."""
    root.drop_partial((RESULTS, FIGURES))
    if arrays:
        arrays.drop_partial(GROUPS)
