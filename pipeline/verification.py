"""What of a run directory is as its ledger says, and what is not: missing, damaged, swapped, foreign or outdated."""

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.digests import DAMAGED
from pipeline.files import PARTIAL
from pipeline.layout import RESULTS, data_identity
from pipeline.plan import DatasetPlan, Plan
from pipeline.schedule import failures
from pipeline.store import COMBINED, DATA, GRAM, GROUPS, STATISTICS, RunStore
from pipeline.task import Finished

TABLES = "tables"
"""The entry of the ledger that names the result tables."""
CLEANED = "cleaned"
"""The entry of the ledger that names the datasets whose big arrays were removed."""


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
class Verdict:
    """What holds, and what does not."""

    valid: dict[str, Finished] = field(default_factory=dict)
    """What is finished, belongs to the plan, and whose files are there; also what failed and is set aside."""
    problems: list[Problem] = field(default_factory=list)
    files: int = 0
    """How many files were found as they were written."""
    outdated: list[str] = field(default_factory=list)
    """What was finished under another config, other data or an older algorithm."""


def data_entry(dataset: str) -> str:
    """The name in the ledger of a dataset's stored data and described arrays."""
    return f"data/{dataset}"


def big_arrays(dataset: str) -> tuple[str, ...]:
    """Where the arrays of a dataset are that tables do not need."""
    return (
        f"{GRAM}/{dataset}/gram/",
        f"{COMBINED}/{dataset}/",
        f"{DATA}/{dataset}/",
        f"{STATISTICS}/{dataset}/sums/",
    )


def examine(
    plan: Plan, recorded: Mapping[str, Finished], store: RunStore, full: bool, again: Container[str] = ()
) -> Verdict:
    """Hold what the ledger says of a plan's tasks and data against the plan and the files.

    Parameters
    ----------
    again
        Names of what is to be done again, whatever the ledger says.
    """
    recorded = {name: entry for name, entry in recorded.items() if name not in again}
    verdict = Verdict()
    cleaned = recorded[CLEANED].result["datasets"] if CLEANED in recorded else []
    for dataset in plan.datasets:
        without = big_arrays(dataset.name) if dataset.name in cleaned else ()
        found = _examine_dataset(dataset, recorded, store, full, without)
        if without and is_left(dataset, found.valid):  # it needs what was removed
            found = _examine_dataset(dataset, recorded, store, full, ())
        verdict.valid |= found.valid
        verdict.problems += found.problems
        verdict.outdated += found.outdated
        verdict.files += found.files
    return verdict


def is_left(dataset: DatasetPlan, valid: Mapping[str, Finished]) -> bool:
    """Whether anything is to do."""
    names = {data_entry(dataset.name), *(task.name for task in dataset.tasks)}
    return bool(names - valid.keys() - failures(dataset, valid).keys())


def _examine_dataset(
    dataset: DatasetPlan, recorded: Mapping[str, Finished], store: RunStore, full: bool, without: tuple[str, ...]
) -> Verdict:
    verdict = Verdict()
    expected = {data_entry(dataset.name): data_identity(dataset)}
    expected |= {task.name: task.identity for task in dataset.tasks}
    for name, identity in expected.items():
        if (entry := recorded.get(name)) is None:
            continue
        if entry.identity != identity:
            verdict.outdated.append(name)
            continue
        problems = list(check_files(entry, recorded, store, full, without))
        verdict.problems += problems
        if not problems:
            verdict.valid[name] = entry
            verdict.files += sum(not key.startswith(without) for key in entry.digests)
    return verdict


def check_files(
    entry: Finished,
    recorded: Mapping[str, Finished],
    store: RunStore,
    full: bool = True,
    without: tuple[str, ...] = (),
) -> Iterator[Problem]:
    """The files of an entry that are not as it says; those under `without` need not be there."""
    for key, digest in entry.digests.items():
        if without and key.startswith(without):
            continue
        found = store.digest(key, full)
        if found != digest:
            yield Problem(key, _what(key, digest, found, recorded), entry.name)


def _what(key: str, digest: str, found: str, recorded: Mapping[str, Finished]) -> str:
    if not found:
        return "is missing"
    owners = (other for entry in recorded.values() for other, theirs in entry.digests.items() if theirs == found)
    if not found.startswith(DAMAGED) and (owner := next((other for other in owners if other != key), None)):
        return f"holds what belongs to {owner}"
    size, expected = found.rpartition(":")[2], digest.rpartition(":")[2]
    return "is damaged" if size == expected else f"is damaged: {size} bytes, not {expected}"


def stored_files(root: Path, folders: Sequence[str] = (*GROUPS, RESULTS)) -> Iterator[str]:
    """The keys of all files of the arrays and tables of a run directory, or of some folders of it."""
    for group in folders:
        for folder, _, names in os.walk(root / group):
            place = folder[len(str(root)) + 1 :]
            for name in names:
                yield f"{place}/{name}"


def foreign_files(root: Path, named: Container[str], unfinished: bool = False) -> list[Problem]:
    """Files among arrays and tables that no line of the ledger names.

    Parameters
    ----------
    unfinished
        Whether tasks are still to do, or failed: they may have left chunks of arrays that are known.
    """
    return [
        Problem(key, "belongs to no finished task", "")
        for key in sorted(stored_files(root))
        if key not in named and not (unfinished and f"{key.partition('/c/')[0]}/zarr.json" in named)
    ]


def sweep_temporary_files(root: Path, arrays: bool) -> None:
    """Remove what writers that were killed left half-written: among the arrays too, where work was to do."""
    own = [path.name for path in root.iterdir() if path.is_file()]
    for key in (*own, *stored_files(root, (*GROUPS, RESULTS) if arrays else (RESULTS,))):
        if key.endswith(PARTIAL):
            (root / key).unlink(missing_ok=True)
