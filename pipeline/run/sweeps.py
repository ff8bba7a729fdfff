"""Run a sweep from its config, or resume the run of a directory."""

import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.config.plugins import plugin_notes, plugin_packages
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.data.source_files import changed_source
from kernel_pipeline.errors import FailedError
from kernel_pipeline.events import Emitter, Listener, RunFinished, RunStarted
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import check_directory, default_directory, is_run_directory
from kernel_pipeline.run.driver import Run
from kernel_pipeline.run.environment import version_changes
from kernel_pipeline.run.event_log import log_event
from kernel_pipeline.run.foreign_files import remove_temporary_files
from kernel_pipeline.run.manifest import (
    Manifest,
    check_same_data,
    check_same_sweep,
    no_run_directory,
    read_manifest,
    restore_manifest,
    write_manifest,
)
from kernel_pipeline.run.options import (
    Options,
    check_host,
    check_memory,
    check_temporary_files,
    prepare_workers,
)
from kernel_pipeline.run.progress_file import ProgressFile
from kernel_pipeline.run.reuse import find_reusable_runs
from kernel_pipeline.run.storage_errors import storage_errors
from kernel_pipeline.run.tables import RunTables
from kernel_pipeline.run.too_large import without_too_large
from kernel_pipeline.run.verification import CheckReport
from kernel_pipeline.store.addresses import open_storage
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.logs import driver_log
from kernel_pipeline.store.paths import LEDGER
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import counted

MAX_NAMED = 10
"""Maximum number of damaged files or failed tasks that are listed."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run in which no task is pending."""

    root: Storage
    plan: Plan
    tables: RunTables
    failed: dict[str, TaskReport]
    """Reports of failed tasks, by name."""
    seconds: float

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return FailedError.exit_code if self.failed else 0


def run_sweep(
    config: Config, folder: Path, out: Storage | None, options: Options, listeners: Sequence[Listener] = ()
) -> Outcome:
    """Run a sweep, or resume it if its directory exists.

    Parameters
    ----------
    folder
        Folder for relative paths of data files.
    out
        The run directory; by default, `default_directory`.
    """
    emit, root = make_emitter(listeners), choose_directory(config, out)
    check_host(options, root.logs().folder)
    report_reusable_runs(config, out, root, options, emit)
    with begin_sweep(config, folder, root, options, emit) as run:
        return _complete(run)


def make_emitter(listeners: Sequence[Listener]) -> Emitter:
    """Return an emitter that also writes the log of the driver."""
    return Emitter((*listeners, log_event))


def choose_directory(config: Config, out: Storage | None) -> Storage:
    """Return the run directory of a sweep."""
    return out or LocalStorage(default_directory(config))


def report_reusable_runs(config: Config, out: Storage | None, root: Storage, options: Options, emit: Emitter) -> None:
    """Report the runs in the default folder whose results a new run could reuse."""
    if out is None and not is_run_directory(root):
        for found in find_reusable_runs(config, options.accept_changes):
            emit(found)


@contextmanager
def begin_sweep(config: Config, folder: Path, root: Storage, options: Options, emit: Emitter) -> Iterator[Run]:
    """Reject a sweep that cannot run; otherwise write its manifest, and hold its lock during the `with` block."""
    samples = {dataset.name: prepare_dataset(config, dataset, folder) for dataset in config.dataset}
    infos = [loaded.info for loaded in samples.values()]
    plan = make_plan(config, infos)
    check_directory(root)
    arrays = open_storage(config.storage.url) if config.storage.url else root  # raises before anything is written
    if options.skip_too_large:
        plan = without_too_large(plan, root, arrays, options, emit)
        config, infos = plan.config, [dataset.info for dataset in plan.datasets]
    check_memory(plan, options)
    if not root.journal().exists() and (free := arrays.free_bytes()) is not None:
        plan.check_disk(free, str(arrays))
    check_temporary_files(plan, options)
    root.make()
    with root.locked() as token:
        check_directory(root)
        ledger = _open_ledger(root, emit)
        manifest = read_manifest(root, ledger) if is_run_directory(root) else None
        if manifest and not options.accept_changes:
            check_same_sweep(manifest, config, infos)
        if manifest is None or not _describes_plan(manifest, plan):
            write_manifest(root, plan, folder, ledger)
        yield Run(root, plan, samples.__getitem__, ledger, options, emit, token)


def resume_sweep(root: Storage, data_dir: Path | None, options: Options, listeners: Sequence[Listener] = ()) -> Outcome:
    """Resume the run of a directory; its config is read from there."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_host(options, root.logs().folder)
    with root.locked() as token:
        return _complete(load_run(root, data_dir, options, make_emitter(listeners), token))


def load_run(root: Storage, data_dir: Path | None, options: Options, emit: Emitter, token: str) -> Run:
    """Load the run of a directory whose lock is held. Stored data are not read from their source again."""
    ledger = _open_ledger(root, emit)
    manifest = read_manifest(root, ledger)
    if not manifest.is_complete:  # a complete run probably needs no workers, and starting them would use a core
        prepare_workers(options, manifest.config)
    loaded: dict[str, PreparedDataset] = {}
    folder = data_dir or manifest.data_folder

    def samples(name: str) -> PreparedDataset:
        if name not in loaded:
            dataset = next(dataset for dataset in manifest.config.dataset if dataset.name == name)
            loaded[name] = prepare_dataset(manifest.config, dataset, folder)
            check_same_data(manifest, loaded[name].info)
        return loaded[name]

    infos = [manifest.info(d.name) or samples(d.name).info for d in manifest.config.dataset]
    _report_changed_sources(manifest, loaded, folder, emit)
    plan = manifest.plan_of(infos)
    if manifest.finished.sweep is None or not manifest.is_current:
        write_manifest(root, plan, folder, ledger)
    return Run(root, plan, samples, ledger, options, emit, token)


def _report_changed_sources(manifest: Manifest, loaded: Container[str], folder: Path, emit: Emitter) -> None:
    """Report the stored datasets whose source files have changed."""
    for dataset in manifest.config.dataset:
        changed = None if dataset.name in loaded else changed_source(dataset, manifest.sources, folder)
        if changed is not None:
            emit.notice(
                f"note: the data of {dataset.name!r} have changed since this run began: {changed}. The copy stored "
                "with the run is used; `pipeline run` with --accept-changes uses the new data"
            )


def _open_ledger(root: Storage, emit: Emitter) -> Ledger:
    """Open the ledger of a run whose lock is held, and remove the lines that a power cut zeroed."""
    ledger = Ledger(root)
    for number in ledger.drop_zeroed():
        emit.notice(f"{LEDGER}, line {number} was lost in a power cut; the results that it recorded are recomputed")
    return ledger


def _complete(run: Run) -> Outcome:
    """Execute everything that is pending, and write the tables."""
    begin = time.monotonic()
    if isinstance(run.root, LocalStorage):  # in an object store, each write would delay the driver
        run.emit = run.emit.with_listener(ProgressFile(run.root))
    for name in restore_manifest(run.root, run.ledger):
        run.emit.notice(f"{name} differs from the ledger, and is restored")
    with driver_log(run.root), storage_errors(run), run.guarded():
        report = run.check(run.options.verify == "full")
        pending = run.pending()
        if pending:
            check_memory(run.plan, run.options)
        touched = run.store.root if pending else None
        remove_temporary_files(run.root, touched)
        _announce(run, pending, report)
        tables = run.retry_on_damage(run.complete)
        remove_temporary_files(run.root, touched)  # files of workers that died during the run
        failed = {name: report for name, report in run.finished.tasks.items() if report.failures}
        seconds = time.monotonic() - begin
        run.emit(RunFinished(str(run.root), len(failed), seconds))
    return Outcome(run.root, run.plan, tables, failed, seconds)


def _announce(run: Run, pending: set[str], report: CheckReport) -> None:
    """Report what is about to run, and why tasks that were finished are pending again."""
    config, plan, notify = run.plan.config, run.plan, run.emit.notice
    run.emit(
        RunStarted(
            name=config.name,
            location=str(run.store.root),
            datasets=len(plan.datasets),
            methods=sum(method.has_rows for method in config.used_methods),  # as the report counts them
            trials=config.protocol.trials,
            pending=len(pending),
            total=len(plan.tasks),
            disk_bytes=plan.disk_bytes,
            notes=(*lines(plan.notes()), *plan.storage_lines()),
        )
    )
    for finding in report.findings[:MAX_NAMED]:
        notify(f"{finding}; it is computed again")
    if len(report.findings) > MAX_NAMED:
        notify(f"... and {counted(len(report.findings) - MAX_NAMED, 'more file')}")
    if report.superseded:
        tasks = counted(len(report.superseded), "finished task is", "finished tasks are")
        notify(f"{tasks} computed again, since results that were used have changed")
    if outdated := pending.intersection(report.outdated):  # stored data may be outdated too, but are not tasks
        notify(f"{counted(len(outdated), 'finished task is', 'finished tasks are')} outdated and computed again")
    if removed := pending.intersection(report.removed):
        tasks = counted(len(removed), "finished task is", "finished tasks are")
        notify(f"{tasks} computed again, since files that are needed were removed")
    for note in plugin_notes(config):
        notify(f"note: {note}")
    sweep, plugins = run.ledger.read().sweep, [package for package, _ in plugin_packages(config)]
    if pending and sweep and (changes := version_changes(sweep.environment, plugins)):
        notify(
            "note: the last digits may differ from those of earlier results, since the environment has changed: "
            f"{', '.join(changes)}"
        )


def _describes_plan(manifest: Manifest, plan: Plan) -> bool:
    """Return whether a run directory already describes the sweep of a plan."""
    sweep = manifest.finished.sweep
    return manifest.is_current and sweep is not None and sweep.identity == plan.identity
