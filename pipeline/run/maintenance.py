"""List the runs of a folder, and remove the large arrays of a finished run."""

import time
from dataclasses import dataclass

from kernel_pipeline.errors import PipelineError, RefusedError
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.foreign_files import is_own
from kernel_pipeline.run.manifest import no_run_directory, own_arrays_root, read_manifest
from kernel_pipeline.run.verification import large_arrays
from kernel_pipeline.store.fence import guarded_arrays
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import CleanedEntry
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import counted


@dataclass(frozen=True)
class ListedRun:
    """One run directory of a folder."""

    location: str
    state: str
    size: int
    """Size in bytes, without arrays that are stored elsewhere."""
    age: float
    """Seconds since the ledger, or the config if there is no ledger, last changed."""


@dataclass(frozen=True)
class Cleaning:
    """Result of removing the large arrays of a run."""

    freed: int
    """Number of bytes that were freed."""
    foreign: tuple[str, ...]
    """Keys of files among the arrays that the run did not write; they are left in place."""


def list_runs(folder: Storage) -> list[ListedRun]:
    """List the run directories of a folder with state, size and age."""
    if not folder.exists():
        raise RefusedError(f"there is no folder {folder}. Give the folder that contains your runs")
    return [
        ListedRun(str(root), _state(root), root.size(), max(0.0, time.time() - root.last_change()))
        for root in folder.children()
        if _is_listed(root)
    ]


def clean_run(root: Storage) -> Cleaning:
    """Remove the large arrays of a finished run."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    with root.locked() as token:
        manifest = read_manifest(root)
        if not manifest.is_complete:
            raise RefusedError(f"{root} is not finished. `pipeline resume {quoted(root)}` resumes the run")
        datasets = tuple(manifest.finished.data)  # includes those that the config no longer has
        ledger, arrays = Ledger(root), own_arrays_root(root, manifest.finished.sweep)
        named = ledger.named_files()
        # The ledger is written first, so that partly removed arrays do not count as damage after a crash.
        ledger.append(CleanedEntry(datasets=datasets))
        ledger.close()
        prefixes = [prefix for dataset in datasets for prefix in large_arrays(dataset)]
        with guarded_arrays(root, arrays, token):
            before = sum(map(arrays.size, prefixes))
            left = [key for prefix in prefixes for key in arrays.remove_files(prefix, lambda key: is_own(key, named))]
            freed = before - sum(map(arrays.size, prefixes))
    return Cleaning(freed, tuple(dict.fromkeys(left)))


def _is_listed(root: Storage) -> bool:
    """Return whether a directory is a run, or may be one that cannot be read; `_state` then returns the reason."""
    try:
        return is_run_directory(root)
    except RefusedError:
        return True


def _state(root: Storage) -> str:
    """Describe the state of a run in a few words."""
    try:
        if (held := root.holder()) is not None:
            return f"running: {held}"
        manifest = read_manifest(root)
    except PipelineError as error:
        return str(error).partition(". ")[0]
    finished = manifest.finished
    if not manifest.is_complete:
        return f"unfinished, {counted(len(finished.tasks), 'task is', 'tasks are')} done"
    failed = sum(bool(report.failures) for report in finished.tasks.values())
    cleaned = ", cleaned" if finished.cleaned and finished.cleaned.datasets else ""
    return (f"done, {counted(failed, 'task')} failed" if failed else "done") + cleaned
