"""Sweeps as commands give them: run a config, or go on with a directory."""

import logging
import time
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from kernel_pipeline.cli.run_view import announce, print_results
from kernel_pipeline.cluster import check_driver, warm_up, worker_limits
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset, load_samples
from kernel_pipeline.data.source_files import changed_source
from kernel_pipeline.errors import CHECK_DISK, DISK_IS_FULL, FailedError, StorageError, UnreachableError
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import check_place, default_directory, is_run_directory
from kernel_pipeline.run.driver import Options, Run
from kernel_pipeline.run.environment import version_changes
from kernel_pipeline.run.manifest import (
    SWEEP,
    Record,
    check_same_data,
    check_same_sweep,
    no_run_directory,
    read_record,
    restore_record,
    write_record,
)
from kernel_pipeline.run.verification import sweep_temporary_files
from kernel_pipeline.run.worker_modules import worker_modules
from kernel_pipeline.store.addresses import open_root
from kernel_pipeline.store.digests import size_of
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalRoot
from kernel_pipeline.store.logs import driver_log
from kernel_pipeline.store.paths import ENVIRONMENT, LEDGER
from kernel_pipeline.store.storage import Root
from kernel_pipeline.text import format_bytes

log = logging.getLogger("kernel_pipeline")


def run_sweep(config: Config, folder: Path, out: Root | None, options: Options, console: Console) -> int:
    """Run a sweep, or go on with it, and show its summary.

    Returns
    -------
    The exit code: 0, or 3 if some cells failed.
    """
    root = out or LocalRoot(default_directory(config))
    check_driver(options.profile, root.logs().folder)
    with begin_sweep(config, folder, root, options, console) as run:
        return _go_on(run)


@contextmanager
def begin_sweep(config: Config, folder: Path, root: Root, options: Options, console: Console) -> Iterator[Run]:
    """Refuse what cannot run; else a directory that says what the sweep is, locked while the block lasts."""
    samples = {dataset.name: load_samples(config, dataset, folder) for dataset in config.dataset}
    outlines = [loaded.outline for loaded in samples.values()]
    plan = make_plan(config, outlines)
    _check_sizes(plan, options)
    check_place(root)
    arrays = open_root(config.storage.url) if config.storage.url else root  # said before anything is written
    if not root.journal().exists() and (free := arrays.free_bytes()) is not None:
        plan.check_disk(free, str(arrays))
    root.make()
    with root.locked() as token:
        check_place(root)
        ledger = _open_ledger(root, console)
        record = read_record(root, ledger) if is_run_directory(root) else None
        if record and not options.accept_changes:
            check_same_sweep(record, config, outlines)
        if record is None or not _says_the_same(record, plan):
            write_record(root, plan, folder, ledger)
        yield Run(root, plan, samples.__getitem__, ledger, options, console, token)


def resume_sweep(root: Root, data_dir: Path | None, options: Options, console: Console) -> int:
    """Go on with the run of a directory, which says itself what it is; gives the exit code."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_driver(options.profile, root.logs().folder)
    with root.locked() as token:
        return _go_on(open_run(root, data_dir, options, console, token))


def open_run(root: Root, data_dir: Path | None, options: Options, console: Console, token: str) -> Run:
    """The run of a directory, whose lock holds a token; data are read from their source only where not stored."""
    ledger = _open_ledger(root, console)
    record = read_record(root, ledger)
    if not record.is_complete:  # else workers are hardly needed, and would only take a core from who checks it
        warm_up(options.profile, worker_modules(record.config))
    loaded: dict[str, PreparedDataset] = {}

    def samples(name: str) -> PreparedDataset:
        if name not in loaded:
            dataset = next(dataset for dataset in record.config.dataset if dataset.name == name)
            loaded[name] = load_samples(record.config, dataset, data_dir or record.data_folder)
            check_same_data(record, loaded[name].outline)
        return loaded[name]

    outlines = [record.outline(d.name) or samples(d.name).outline for d in record.config.dataset]
    _report_changed_sources(record, loaded, data_dir or record.data_folder, console)
    plan = record.plan_of(outlines)
    if SWEEP not in record.finished or not record.is_current:
        write_record(root, plan, data_dir or record.data_folder, ledger)
    return Run(root, plan, samples, ledger, options, console, token)


def _report_changed_sources(record: Record, loaded: Container[str], folder: Path, console: Console) -> None:
    """Say which data, of those that are stored and were not read again, have changed at their source."""
    for dataset in record.config.dataset:
        changed = None if dataset.name in loaded else changed_source(dataset, record.sources, folder)
        if changed is not None:
            console.print(
                f"note: the data of {dataset.name!r} have changed since this run began: {changed}. The copy stored "
                "with the run is used; `pipeline run` with --accept-changes computes with the new data",
                highlight=False,
                soft_wrap=True,
                markup=False,
            )


def _open_ledger(root: Root, console: Console) -> Ledger:
    """The ledger of a run whose lock is held, without what a power cut zeroed."""
    ledger = Ledger(root)
    for number in ledger.drop_zeroed():
        console.print(
            f"{LEDGER}, line {number} was lost in a power cut; what it spoke of is done again", highlight=False
        )
    return ledger


def _go_on(run: Run) -> int:
    begin = time.monotonic()
    for name in restore_record(run.root, run.ledger):
        run.console.print(f"{name} is not as it was written, and is restored", highlight=False)
    with driver_log(run.root), storage_errors(run), run.guarded():
        verdict = run.examine(run.options.verify == "full")
        left = len(run.left())
        if left:
            _check_sizes(run.plan, run.options)
        touched = run.store.root if left else None
        sweep_temporary_files(run.root, touched)
        announce(run.console, run.plan, run.store.root, left, verdict)
        if left and (changes := version_changes(run.ledger.read()[SWEEP].result["files"][ENVIRONMENT])):
            run.console.print(f"note: last digits may differ from what is done: {', '.join(changes)}", highlight=False)
        log.info("start: %d of %d tasks are left", left, len(run.plan.tasks))
        tables = run.mending(run.complete)
        sweep_temporary_files(run.root, touched)  # of workers that died on the way
        log.info("end after %.1f s", time.monotonic() - begin)
    failed = {name: entry for name, entry in run.finished.items() if entry.failures}
    print_results(run.console, run.root, run.plan, tables, failed, time.monotonic() - begin)
    return FailedError.exit_code if failed else 0


def _check_sizes(plan: Plan, options: Options) -> None:
    count, limit = worker_limits(options.profile)
    if limit is not None:  # else who gives the workers decides, and they say so when they come
        plan.check_memory(limit, count)


def _says_the_same(record: Record, plan: Plan) -> bool:
    """Whether a directory says of itself what a plan would say."""
    return record.is_current and SWEEP in record.finished and record.finished[SWEEP].identity == plan.identity


@contextmanager
def storage_errors(run: Run) -> Iterator[None]:
    """Say in words what a full or vanished disk, or an object store that is away, means for a run."""
    try:
        yield
    except UnreachableError as error:
        raise StorageError(
            f"{error.filename}: {error.strerror}. What is done is kept: once that is mended, the same command goes on"
        ) from None
    except OSError as error:
        what = f"cannot write {error.filename or run.root}: {error.strerror}."
        if error.errno not in DISK_IS_FULL:
            raise StorageError(f"{what} What is done is kept. {CHECK_DISK}") from error
        stored = sum(size_of(digest) for entry in run.finished.values() for digest in entry.digests.values())
        needed = max(0, run.plan.disk_bytes - stored)
        raise StorageError(
            f"{what} The arrays still to be written need about "
            f"{format_bytes(needed)}, and {run.root} has {_free(run.root)} free. What is done is kept: make space, and "
            "the same command goes on"
        ) from error
    finally:
        run.ledger.close()


def _free(root: Root) -> str:
    try:
        free = root.free_bytes()
    except OSError:
        return "nothing"
    return "any space" if free is None else format_bytes(free)
