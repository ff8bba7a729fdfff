"""Find files in a run directory that its ledger does not name: foreign files, and those left by interrupted tasks."""

from collections.abc import Collection, Container, Iterator

from kernel_pipeline.results.registered_files import is_registered_file
from kernel_pipeline.run.verification import Finding
from kernel_pipeline.store.files import is_temporary
from kernel_pipeline.store.keys import array_of, dataset_of
from kernel_pipeline.store.paths import FIGURES, GROUPS, RESULTS
from kernel_pipeline.store.storage import Storage

FOREIGN = "is not recorded in the ledger"


def stored_files(root: Storage, arrays: Storage) -> Iterator[str]:
    """Yield the keys of all files among the arrays, tables and figures of a run."""
    for group in GROUPS:
        yield from arrays.keys(group)
    yield from root.keys(RESULTS)
    yield from root.keys(FIGURES)


def foreign_files(
    root: Storage, arrays: Storage, named: Collection[str], unfinished: bool = False, abandoned: Container[str] = ()
) -> list[Finding]:
    """Return the files among arrays, tables and figures that no line of the ledger names.

    Parameters
    ----------
    named
        Keys of the files that the ledger names.
    unfinished
        Whether tasks are pending or have failed. These tasks may have left chunks of known arrays, and an earlier,
        complete state of the run may have left tables. Neither is reported, since both will be written again.
    abandoned
        Names of datasets whose files may be left over from a change of the config that was not completed.
    """
    may_have_tables = unfinished and named
    return [
        Finding(key, FOREIGN, "")
        for key in sorted(stored_files(root, arrays))
        if key not in named
        and not (unfinished and f"{array_of(key)}/zarr.json" in named)
        and not (may_have_tables and is_registered_file(key))
        and dataset_of(key) not in abandoned
    ]


def is_own(key: str, named: Container[str]) -> bool:
    """Return whether a run wrote a file among its arrays: the ledger names it, or an interrupted task left it."""
    return key in named or f"{array_of(key)}/zarr.json" in named or is_temporary(key.rpartition("/")[2])


def remove_temporary_files(root: Storage, arrays: Storage | None) -> None:
    """Remove the temporary files of processes that were killed.

    Parameters
    ----------
    arrays
        The storage of the arrays; None if no task can have left files there.
    """
    root.remove_temporary_files((RESULTS, FIGURES))
    if arrays:
        arrays.remove_temporary_files(GROUPS)
