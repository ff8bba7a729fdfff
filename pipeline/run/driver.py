"""Execute a run in its directory: check what is finished, execute the pending tasks, and write the tables."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TypeVar

from kernel_pipeline.config.plugins import plugin_packages
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.errors import CHECK_DISK, InterruptedRunError, StorageError
from kernel_pipeline.events import ClusterOpened, Emitter, TaskFinished, TasksStarted, TasksStopped
from kernel_pipeline.plan.data_identity import data_identity
from kernel_pipeline.plan.estimates import RemainingTime, task_times
from kernel_pipeline.plan.failures import failed_and_dependents, failures
from kernel_pipeline.plan.follow_ups import open_ended_results
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.manifest import own_arrays_root
from kernel_pipeline.run.options import Options as Options
from kernel_pipeline.run.options import open_workers
from kernel_pipeline.run.released_kernels import KernelRemoval
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.stored_data import create_arrays
from kernel_pipeline.run.tables import RunTables, update_tables
from kernel_pipeline.run.verification import CheckReport, check, has_pending, superseded_tasks
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence, guarded_arrays
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.inputs import InputDigests, Total
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import CleanedEntry, DataEntry, LedgerEntry
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")

T = TypeVar("T")

MAX_ATTEMPTS = 3
"""Maximum number of times that work is attempted if it finds damaged files; more damage indicates a broken disk."""


class Run:
    """The execution of a sweep in a directory, whose lock is held.

    Parameters
    ----------
    samples
        Loads the samples of a dataset by its name.
    emit
        Receives the events of the run.
    token
        Token of the lock. The driver and the workers write only as long as the lock contains it.
    """

    def __init__(
        self,
        root: Storage,
        plan: Plan,
        samples: Callable[[str], PreparedDataset],
        ledger: Ledger,
        options: Options,
        emit: Emitter,
        token: str = "",
    ) -> None:
        self.root, self.plan, self.options, self.emit = root, plan, options, emit
        self._samples = samples
        self.ledger = ledger
        self.store = RunStore(own_arrays_root(root, ledger.read().sweep), token)
        self._fence = Fence(root, token)
        self.finished = LedgerState()
        """The data and the tasks of the plan that are finished and intact."""
        self._lost: dict[str, LedgerEntry] = {}
        """Entries that were finished and have to be recomputed, by name."""
        self._inputs = InputDigests()
        self.damaged: set[str] = set()
        """Names of finished entries that have to be recomputed, since they are damaged, superseded or missing."""
        self._removed: set[str] = set()
        """Names of entries whose files were removed on purpose and are needed again."""
        self._to_retry: set[str] | None = None
        """Names of failed tasks that are still to be retried; None before the first check."""
        self._stages = {task.name: task.stage for task in plan.tasks}
        self._open_ended = {task.name for task in plan.tasks if task.is_open_ended}
        self._removal = KernelRemoval(plan, self.store.root)
        self._remaining, self._workers = RemainingTime({}, ()), 1

    def guarded(self) -> AbstractContextManager[None]:
        """Copy the lock to the storage of the arrays, where workers check that this run holds it."""
        return guarded_arrays(self.root, self.store.root, self._fence.token)

    def check(self, full: bool) -> CheckReport:
        """Determine what is finished and intact. Failed tasks count as finished, unless they are to be retried."""
        recorded = self.ledger.read()
        if self.options.retry_failed and self._to_retry is None:
            names = [failed_and_dependents(dataset, recorded.tasks) for dataset in self.plan.datasets]
            self._to_retry = set().union(*names)
        report = check(self.plan, recorded, self.store.root, full, self._to_retry or ())
        for finding in report.findings:
            log.warning("%s; %s is computed again", finding, finding.entry)
            self.store.root.remove_directory(finding.key)
        for name in report.superseded:
            log.warning("%s was computed from results that have changed since; it is computed again", name)
        self.damaged |= {*report.superseded, *(finding.entry for finding in report.findings)}
        self.finished, self._lost, self._inputs = report.valid, report.lost, report.inputs
        self._removed = set(report.removed)
        return report

    def inputs_of(self, task: Task) -> tuple[Total, ...]:
        """Return the digests of the inputs of a task, as recorded in the ledger."""
        return self._inputs.of(task)

    def pending(self) -> set[str]:
        """Return the names of the tasks to execute: not finished, and not blocked by a failed task."""
        tasks = self.finished.tasks
        blocked = {name for dataset in self.plan.datasets for name in failures(dataset, tasks)}
        return {task.name for task in self.plan.known_tasks(tasks)} - tasks.keys() - blocked

    def pending_repairs(self) -> set[str]:
        """Return the names of the pending tasks in `damaged`, and of the pending tasks that they depend on."""
        pending, names = self.pending(), set()
        for dataset in self.plan.datasets:
            known = dataset.known_tasks(self.finished.tasks)
            damaged = {task.name for task in known if task.name in pending and task.name in self.damaged}
            names |= damaged | (dataset.known_graph(self.finished.tasks).ancestors(damaged) & pending)
        return names

    def complete(self) -> RunTables:
        """Execute all pending tasks, and return the rows, their summary and the notes."""
        self.execute(self.pending)
        return self.tables()

    def execute(self, todo: Callable[[], set[str]]) -> None:
        """Store missing data and execute tasks, then the tasks whose inputs have changed as a result.

        Parameters
        ----------
        todo
            Returns the names of the tasks to execute, given what is finished.
        """
        self._update_cleaned()
        may_differ, executed = self.store_data(), set[str]()
        while True:  # at most one pass per stage, since a second computation gives the same results
            if may_differ:
                self._forget_superseded()
            if not (names := todo()):
                self._removal.remove_rewritten(executed, self.finished.tasks)
                return
            if not executed:
                self._removal.remove_all(self.finished.tasks)
            executed |= names
            # In a new run, no result can have been computed from other inputs.
            may_differ = any(name in self.finished.tasks for name in self._stages)
            self._forget_lost(names)
            self._run_tasks(names)

    def _forget_superseded(self) -> None:
        """Mark tasks as not finished if their inputs were recomputed with another result."""
        for dataset in self.plan.datasets:
            for name in superseded_tasks(dataset, self.finished.tasks, self._inputs):
                log.warning("%s was computed from results that have changed during the run; it is computed again", name)
                self._lost[name] = self.finished.tasks.pop(name)
                self.damaged.add(name)

    def retry_on_damage(self, work: Callable[[], T]) -> T:
        """Call a function, and repeat the call if a file that it reads turns out to be damaged."""
        for _ in range(MAX_ATTEMPTS):
            try:
                return work()
            except DamagedError as error:
                self.ledger.journal.check_not_moved()  # raises if the directory no longer exists, which is not damage
                self.emit.notice(f"{error}; it is computed again")
                self.check(full=True)
        raise StorageError(f"{self.root} was damaged repeatedly during the run. {CHECK_DISK}")

    def store_data(self) -> bool:
        """Store the data of datasets that are not stored yet, and return whether there were any."""
        has_stored = False
        for dataset in self.plan.datasets:
            if dataset.name not in self.finished.data:
                begin = time.perf_counter()
                digests = create_arrays(self.store, dataset, self._samples(dataset.name))
                seconds = round(time.perf_counter() - begin, 6)
                self.record(
                    [DataEntry(info=dataset.info, identity=data_identity(dataset), digests=digests, seconds=seconds)]
                )
                has_stored = True
        return has_stored

    def _run_tasks(self, todo: set[str]) -> None:
        from kernel_pipeline.run.executor import Execution  # it imports distributed, which a finished run does not need
        from kernel_pipeline.run.running_tasks import tasks_running
        from kernel_pipeline.run.worker_check import WorkerCheck

        notify, logs = self.emit.notice, self.root.logs().folder
        with (
            Interrupt(notify, self.options.end_process) as interrupt,
            open_workers(self.options, logs) as cluster,
            self._reported_tasks(todo, cluster.max_workers),
        ):
            self.emit(ClusterOpened(cluster.max_workers, cluster.dashboard))
            schedule, plugins = self.schedule(todo), plugin_packages(self.plan.config)
            with closing(WorkerCheck(cluster, self.store, self._probe_file(), logs, plugins)) as check_workers:
                Execution(
                    cluster,
                    schedule,
                    self.store,
                    self._record_tasks,
                    check_workers,
                    interrupt,
                    self.options.fail_fast,
                    notify,
                    self.inputs_of,
                    plugins,
                    lambda running: self.emit(tasks_running(running, self._remaining, self._workers)),
                ).run()
            if interrupt.requested and (pending := len(self.pending())):
                raise InterruptedRunError(
                    f"stopped; {pending:,} of {len(self._stages):,} tasks are left. `pipeline resume "
                    f"{quoted(self.root)}`, or the same command, resumes the run"
                )

    def schedule(self, todo: set[str]) -> Schedule:
        """Return the schedule of some of the tasks; those that open-ended tasks request are added later."""
        reports = self.finished.tasks
        known = self.plan.known_tasks(reports)
        failed = {name for name, report in reports.items() if report.failed}
        results = open_ended_results(known, reports)
        return Schedule(self.plan.tasks, {task.name for task in known} - todo, failed, results)

    @contextmanager
    def _reported_tasks(self, todo: set[str], workers: int) -> Iterator[None]:
        """Emit `TasksStarted` before the tasks are executed, and `TasksStopped` afterwards."""
        finished = (self._stages[name] for name in self.finished.tasks if name in self._stages)
        self._workers = workers
        self._remaining = RemainingTime.of(self.plan, self.finished.tasks, todo)
        remaining = self._remaining.seconds(workers)
        self.emit(TasksStarted(Counter(self._stages.values()), Counter(finished), remaining))
        try:
            yield
        finally:
            self.emit(TasksStopped())

    def _record_tasks(self, reports: list[TaskReport]) -> None:
        self.record(reports)
        if any(report.task in self._open_ended for report in reports):
            self._remaining.add_requested(task_times(self.plan, finished=self.finished.tasks))
        for report in reports:
            stage = self._stages.get(report.task, "")
            self._remaining.add_finished(report.task, report.seconds, report.failed)
            remaining = self._remaining.seconds(self._workers)
            self.emit(TaskFinished(report.task, stage, report.seconds, report.failed, remaining))

    def _forget_lost(self, todo: set[str]) -> None:
        """Remove the recorded digests of files that are about to be recomputed, since the new digests may differ."""
        for name in todo & self._lost.keys():
            self._inputs.replace(self._lost.pop(name).digests, {})

    def _probe_file(self) -> tuple[str, str]:
        """Return the key of a stored file that workers must be able to read, and its digest."""
        digests = self.finished.data[self.plan.datasets[0].name].digests
        return next((key, digest) for key, digest in digests.items() if key.endswith("/zarr.json"))

    def record(self, entries: Sequence[LedgerEntry]) -> None:
        """Append entries to the ledger; raise an error if the lock was lost or the directory was moved."""
        if entries:
            self.ledger.journal.check_not_moved()
            self._fence.check()
            self.ledger.append(*entries)
            for entry in entries:
                replaced = self.finished.add(entry)
                before = self._lost.pop(entry.name, None) or replaced
                self._inputs.replace(before.digests if before else {}, entry.digests)
            self._removal.remove([entry.name for entry in entries], self.finished.tasks)
            if self._to_retry:
                self._to_retry -= {entry.name for entry in entries}

    def _update_cleaned(self) -> None:
        """Record that datasets whose arrays are computed again are no longer cleaned."""
        recorded = self.ledger.read().cleaned
        cleaned = recorded.datasets if recorded else ()
        again = [d for d in self.plan.datasets if d.name in cleaned and has_pending(d, self.finished)]
        if again:
            names = {dataset.name for dataset in again}
            self.ledger.append(CleanedEntry(datasets=tuple(name for name in cleaned if name not in names)))
            # From now on, missing files of these datasets count as damage.
            self.damaged |= self._removed & {task.name for dataset in again for task in dataset.tasks}

    def tables(self) -> RunTables:
        """Return the rows, their summary and the notes; write the tables unless they exist and would be the same."""
        return update_tables(self.root, self.store, self.plan, self.finished, self.ledger, self._fence)
