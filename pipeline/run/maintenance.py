"""Runs as a heap of directories: list them, and free what they hold."""

import time

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernel_pipeline.errors import PipelineError, RefusedError
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.manifest import no_run_directory, own_arrays_root, read_record
from kernel_pipeline.run.verification import CLEANED, big_arrays, data_entry, is_own
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.fence import guarded_arrays
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root
from kernel_pipeline.text import format_bytes, printable

HOUR, DAY = 3600.0, 86400.0


def print_runs(console: Console, folder: Root) -> None:
    """List the run directories of a folder with state, size and age."""
    if not folder.is_there():
        raise RefusedError(f"there is no folder {folder}; give the one that your runs are in")
    found = [root for root in folder.inner() if _is_listed(root)]
    if not found:
        console.print(f"There are no runs in {folder}.", highlight=False, markup=False)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("run", "state", "size", "age"):
        table.add_column(heading, justify="right" if heading in ("size", "age") else "left", no_wrap=True)
    for root in found:
        shown = (escape(printable(text)) for text in (str(root), _state(root)))
        table.add_row(*shown, format_bytes(root.size()), _age(root))
    console.print(table)


def clean_run(console: Console, root: Root) -> None:
    """Remove the big arrays of a finished run."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    with root.locked() as token:
        record = read_record(root)
        if not record.is_complete:
            raise RefusedError(f"{root} is not finished: `pipeline resume {quoted(root)}` goes on with it")
        # Also those that the config no longer has.
        datasets = [name.partition("/")[2] for name in record.finished if name.startswith(data_entry(""))]
        ledger, arrays = Ledger(root), own_arrays_root(root, record.finished)
        named = ledger.named_files()
        # First said, then done: what is left half-removed by a crash is not taken for damage.
        ledger.append(Finished(CLEANED, "", {}, {"datasets": datasets}, 0.0, 0))
        ledger.close()
        places = [place for dataset in datasets for place in big_arrays(dataset)]
        with guarded_arrays(root, arrays, token):
            before = sum(map(arrays.size, places))
            left = [key for place in places for key in arrays.remove_files(place, lambda key: is_own(key, named))]
            freed = before - sum(map(arrays.size, places))
    for key in dict.fromkeys(left):
        console.print(f"{key} is not of this run, and is left in place", highlight=False, soft_wrap=True, markup=False)
    console.print(f"{format_bytes(freed)} are free again; tables, statistics, weights and the ledger are kept.")


def _is_listed(root: Root) -> bool:
    """Return whether a place is a run, or something that pretends to be one, which its line then says."""
    try:
        return is_run_directory(root)
    except RefusedError:
        return True


def _state(root: Root) -> str:
    try:
        if (held := root.holder()) is not None:
            return f"running: {held}"
        record = read_record(root)
    except PipelineError as error:
        return str(error).partition(". ")[0]
    finished = record.finished
    tasks = [entry for name, entry in finished.items() if name.partition("/")[0] in STAGES]
    if not record.is_complete:
        return f"unfinished, {len(tasks):,} tasks are done"
    failed = sum(bool(entry.failures) for entry in tasks)
    cleaned = ", cleaned" if CLEANED in finished and finished[CLEANED].result["datasets"] else ""
    return (f"done, {failed:,} tasks failed" if failed else "done") + cleaned


def _age(root: Root) -> str:
    """Since anything was last finished there."""
    seconds = max(0.0, time.time() - root.last_change())
    if seconds < HOUR:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / HOUR:.0f} h" if seconds < 2 * DAY else f"{seconds / DAY:.0f} days"
