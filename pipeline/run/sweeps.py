"""Run a sweep from its config, or resume the run of a directory."""

import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset, load_samples
from kernel_pipeline.data.source_files import changed_source
from kernel_pipeline.errors import FailedError
from kernel_pipeline.events import Emitter, Listener, RunFinished, RunStarted
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import check_place, default_directory, is_run_directory
from kernel_pipeline.run.driver import Run
from kernel_pipeline.run.environment import version_changes
from kernel_pipeline.run.event_log import log_event
from kernel_pipeline.run.manifest import (
    SWEEP,
    Manifest,
    check_same_data,
    check_same_sweep,
    no_run_directory,
    read_manifest,
    restore_manifest,
    write_manifest,
)
from kernel_pipeline.run.options import Options, check_host, check_memory, prepare_workers
from kernel_pipeline.run.reuse import find_reusable_runs
from kernel_pipeline.run.storage_errors import storage_errors
from kernel_pipeline.run.tables import RunTables
from kernel_pipeline.run.verification import CheckReport, sweep_temporary_files
from kernel_pipeline.store.addresses import open_storage
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.logs import driver_log
from kernel_pipeline.store.paths import ENVIRONMENT, LEDGER
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage

MAX_NAMED = 10
"""Number of damaged files that are named; there may be very many."""


@dataclass(frozen=True)
class Outcome:
    """A run that came to its end."""

    root: Storage
    plan: Plan
    tables: RunTables
    failed: dict[str, Finished]
    """Ledger entries of failed tasks by name."""
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
        Where relative paths of data files start.
    out
        The run directory; `default_directory` without it.
    """
    emit, root = make_emitter(listeners), choose_directory(config, out)
    check_host(options, root.logs().folder)
    report_reusable_runs(config, out, root, emit)
    with begin_sweep(config, folder, root, options, emit) as run:
        return _complete(run)


def make_emitter(listeners: Sequence[Listener]) -> Emitter:
    """Return an emitter that also writes the log of the driver."""
    return Emitter((*listeners, log_event))


def choose_directory(config: Config, out: Storage | None) -> Storage:
    """Return the run directory of a sweep."""
    return out or LocalStorage(default_directory(config))


def report_reusable_runs(config: Config, out: Storage | None, root: Storage, emit: Emitter) -> None:
    """Before a new run in the default folder, report the runs there to whose configs the new one only adds."""
    if out is None and not is_run_directory(root):
        for found in find_reusable_runs(config):
            emit(found)


@contextmanager
def begin_sweep(config: Config, folder: Path, root: Storage, options: Options, emit: Emitter) -> Iterator[Run]:
    """Reject a sweep that cannot run; otherwise write its manifest, and hold its lock for the block."""
    samples = {dataset.name: load_samples(config, dataset, folder) for dataset in config.dataset}
    infos = [loaded.info for loaded in samples.values()]
    plan = make_plan(config, infos)
    check_memory(plan, options)
    check_place(root)
    arrays = open_storage(config.storage.url) if config.storage.url else root  # raises before anything is written
    if not root.journal().exists() and (free := arrays.free_bytes()) is not None:
        plan.check_disk(free, str(arrays))
    root.make()
    with root.locked() as token:
        check_place(root)
        ledger = _open_ledger(root, emit)
        manifest = read_manifest(root, ledger) if is_run_directory(root) else None
        if manifest and not options.accept_changes:
            check_same_sweep(manifest, config, infos)
        if manifest is None or not _is_of_plan(manifest, plan):
            write_manifest(root, plan, folder, ledger)
        yield Run(root, plan, samples.__getitem__, ledger, options, emit, token)


def resume_sweep(root: Storage, data_dir: Path | None, options: Options, listeners: Sequence[Listener] = ()) -> Outcome:
    """Resume the run of a directory; its config is read from there."""
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_host(options, root.logs().folder)
    with root.locked() as token:
        return _complete(open_run(root, data_dir, options, make_emitter(listeners), token))


def open_run(root: Storage, data_dir: Path | None, options: Options, emit: Emitter, token: str) -> Run:
    """Open the run of a directory whose lock holds a token. Data that are stored are not read from their source."""
    ledger = _open_ledger(root, emit)
    manifest = read_manifest(root, ledger)
    if not manifest.is_complete:  # otherwise workers are probably not needed, and would only take up a core
        prepare_workers(options, manifest.config)
    loaded: dict[str, PreparedDataset] = {}
    folder = data_dir or manifest.data_folder

    def samples(name: str) -> PreparedDataset:
        if name not in loaded:
            dataset = next(dataset for dataset in manifest.config.dataset if dataset.name == name)
            loaded[name] = load_samples(manifest.config, dataset, folder)
            check_same_data(manifest, loaded[name].info)
        return loaded[name]

    infos = [manifest.info(d.name) or samples(d.name).info for d in manifest.config.dataset]
    _report_changed_sources(manifest, loaded, folder, emit)
    plan = manifest.plan_of(infos)
    if SWEEP not in manifest.finished or not manifest.is_current:
        write_manifest(root, plan, folder, ledger)
    return Run(root, plan, samples, ledger, options, emit, token)


def _report_changed_sources(manifest: Manifest, loaded: Container[str], folder: Path, emit: Emitter) -> None:
    """Report which of the stored data have changed at their source."""
    for dataset in manifest.config.dataset:
        changed = None if dataset.name in loaded else changed_source(dataset, manifest.sources, folder)
        if changed is not None:
            emit.notice(
                f"note: the data of {dataset.name!r} have changed since this run began: {changed}. The copy stored "
                "with the run is used; `pipeline run` with --accept-changes computes with the new data"
            )


def _open_ledger(root: Storage, emit: Emitter) -> Ledger:
    """Open the ledger of a run whose lock is held, without the lines that a power cut zeroed."""
    ledger = Ledger(root)
    for number in ledger.drop_zeroed():
        emit.notice(f"{LEDGER}, line {number} was lost in a power cut; what it recorded is computed again")
    return ledger


def _complete(run: Run) -> Outcome:
    """Bring a run to its end."""
    begin = time.monotonic()
    for name in restore_manifest(run.root, run.ledger):
        run.emit.notice(f"{name} is not as it was written, and is restored")
    with driver_log(run.root), storage_errors(run), run.guarded():
        report = run.check(run.options.verify == "full")
        pending = len(run.pending())
        if pending:
            check_memory(run.plan, run.options)
        touched = run.store.root if pending else None
        sweep_temporary_files(run.root, touched)
        _announce(run, pending, report)
        tables = run.retry_on_damage(run.complete)
        sweep_temporary_files(run.root, touched)  # those of workers that died during the run
        failed = {name: entry for name, entry in run.finished.items() if entry.failures}
        seconds = time.monotonic() - begin
        run.emit(RunFinished(str(run.root), len(failed), seconds))
    return Outcome(run.root, run.plan, tables, failed, seconds)


def _announce(run: Run, pending: int, report: CheckReport) -> None:
    """Emit what is about to run, and why tasks that were finished are pending again."""
    config, plan, say = run.plan.config, run.plan, run.emit.notice
    run.emit(
        RunStarted(
            name=config.name,
            location=str(run.store.root),
            datasets=len(plan.datasets),
            methods=len(config.methods),
            trials=config.protocol.folds,
            pending=pending,
            total=len(plan.tasks),
            disk_bytes=plan.disk_bytes,
            notes=tuple(lines(plan.notes())),
        )
    )
    for problem in report.problems[:MAX_NAMED]:
        say(f"{problem}; it is computed again")
    if len(report.problems) > MAX_NAMED:
        say(f"... and {len(report.problems) - MAX_NAMED:,} more files")
    if report.superseded:
        say(f"{len(report.superseded):,} finished tasks used results that have changed since, and are computed again")
    if report.outdated:
        say(f"{len(report.outdated):,} finished tasks are outdated and are computed again")
    if pending and (changes := version_changes(run.ledger.read()[SWEEP].result["files"][ENVIRONMENT])):
        say(f"note: last digits may differ from earlier results: {', '.join(changes)}")


def _is_of_plan(manifest: Manifest, plan: Plan) -> bool:
    """Return whether a run directory already describes the sweep of a plan."""
    return manifest.is_current and SWEEP in manifest.finished and manifest.finished[SWEEP].identity == plan.identity
