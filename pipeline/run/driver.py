"""One run in its directory: find out what is finished, execute the pending tasks, and write the tables."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import TypeVar

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.errors import InterruptedRunError, StorageError
from kernel_pipeline.events import Emitter, TaskFinished, TasksStarted, TasksStopped, WorkersChanged
from kernel_pipeline.plan.data_identity import data_identity
from kernel_pipeline.plan.failures import failed_and_dependents, failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.manifest import own_arrays_root
from kernel_pipeline.run.options import Options as Options
from kernel_pipeline.run.options import open_workers
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.stored_data import create_arrays
from kernel_pipeline.run.tables import RunTables, update_tables
from kernel_pipeline.run.verification import CLEANED, CheckReport, check, data_entry, is_left, superseded_tasks
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence, guarded_arrays
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.inputs import InputDigests, Total
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")

T = TypeVar("T")

MAX_REPAIRS = 3
"""Number of times that damage found during a run is repaired; more than that is a broken disk."""


class Run:
    """One sweep in its directory, whose lock is held.

    Parameters
    ----------
    samples
        Loads the samples of a dataset by its name.
    emit
        Receives the events of the run.
    token
        Token of the lock. The driver and the workers write only as long as the lock holds it.
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
        self.store = RunStore(own_arrays_root(root, ledger.read()), token)
        self._fence = Fence(root, token)
        self.finished: dict[str, Finished] = {}
        self._lost: dict[str, Finished] = {}
        """Ledger entries of what was finished and has to be computed again."""
        self._inputs = InputDigests()
        self.damaged: set[str] = set()
        """Names of entries that were finished and turned out to be damaged."""
        self._again: set[str] | None = None
        """Names of failed tasks that are to be retried and were not yet."""
        self._stages = {task.name: task.stage for task in plan.tasks}

    def guarded(self) -> AbstractContextManager[None]:
        """Let workers see, at the location of the arrays, that this run holds the lock."""
        return guarded_arrays(self.root, self.store.root, self._fence.token)

    def check(self, full: bool) -> CheckReport:
        """Determine what is finished and intact. Failed tasks count as finished, unless they are to be retried."""
        recorded = self.ledger.read()
        if self.options.retry_failed and self._again is None:
            names = [failed_and_dependents(dataset, recorded) for dataset in self.plan.datasets]
            self._again = set().union(*names)
        report = check(self.plan, recorded, self.store.root, full, self._again or ())
        for problem in report.problems:
            log.warning("%s; %s is computed again", problem, problem.entry)
            self.store.root.remove_directory(problem.key)
        for name in report.superseded:
            log.warning("%s was computed from data that have changed since; it is computed again", name)
        self.damaged |= {*report.superseded, *(problem.entry for problem in report.problems)}
        self.finished, self._lost, self._inputs = report.valid, report.lost, report.inputs
        if CLEANED in recorded:
            self._update_cleaned(recorded[CLEANED])
        return report

    def inputs_of(self, task: Task) -> tuple[Total, ...]:
        """Return the digests of what a task reads, as the ledger has them."""
        return self._inputs.of(task)

    def pending(self) -> set[str]:
        """Return the names of the tasks to execute: not finished, and not blocked by a failed task."""
        blocked = {name for dataset in self.plan.datasets for name in failures(dataset, self.finished)}
        return {task.name for task in self.plan.known_tasks(self.finished)} - self.finished.keys() - blocked

    def pending_repairs(self) -> set[str]:
        """Return the names of the pending tasks that were damaged, and of pending tasks that these may depend on."""
        pending, names = self.pending(), set()
        for dataset in self.plan.datasets:
            known = dataset.known_tasks(self.finished)
            damaged = {task.name for task in known if task.name in pending and task.name in self.damaged}
            names |= damaged | (dataset.known_graph(self.finished).ancestors(damaged) & pending)
        return names

    def complete(self) -> RunTables:
        """Execute all pending tasks, and return the rows, their summary and the notes."""
        self.execute(self.pending)
        return self.tables()

    def execute(self, todo: Callable[[], set[str]]) -> None:
        """Store missing data and execute tasks, then the tasks whose inputs came out differently.

        Parameters
        ----------
        todo
            Returns the names of the tasks to execute, given what is finished.
        """
        may_differ = self.store_data()
        while True:  # at most as often as there are stages, since the results of a second execution are final
            if may_differ:
                self._forget_superseded()
            if not (names := todo()):
                return
            # In a new run, no result can have been computed from other inputs.
            may_differ = any(name in self.finished for name in self._stages)
            self._forget_lost(names)
            self._run_tasks(names)

    def _forget_superseded(self) -> None:
        """Treat tasks as not finished whose inputs have been computed again with another result."""
        for dataset in self.plan.datasets:
            for name in superseded_tasks(dataset, self.finished, self._inputs):
                log.warning("%s was computed from data that came out differently now; it is computed again", name)
                self._lost[name] = self.finished.pop(name)
                self.damaged.add(name)

    def retry_on_damage(self, work: Callable[[], T]) -> T:
        """Do some work, and repeat it when something that it reads turns out to be damaged."""
        for _ in range(MAX_REPAIRS):
            try:
                return work()
            except DamagedError as error:
                self.ledger.journal.check_place()  # otherwise it is not damage: the whole directory is gone
                self.emit.notice(f"{error}; it is computed again")
                self.check(full=True)
        raise StorageError(f"{self.root} was damaged repeatedly during the run. Check its disk")

    def store_data(self) -> bool:
        """Store the data of datasets that are not stored yet, and return whether there were any."""
        is_any = False
        for dataset in self.plan.datasets:
            name = data_entry(dataset.name)
            if name not in self.finished:
                begin = time.perf_counter()
                digests = create_arrays(self.store, dataset, self._samples(dataset.name))
                entry = Finished(
                    name=name,
                    identity=data_identity(dataset),
                    digests=digests,
                    result={"outline": dataset.info.values()},
                    seconds=round(time.perf_counter() - begin, 6),
                    peak_memory=0,
                )
                self.record([entry])
                is_any = True
        return is_any

    def _run_tasks(self, todo: set[str]) -> None:
        from kernel_pipeline.run.executor import Execution  # imports distributed, which a finished run does not need
        from kernel_pipeline.run.worker_check import WorkerCheck

        say, logs = self.emit.notice, self.root.logs().folder
        with (
            Interrupt(say, self.options.owns_process) as interrupt,
            open_workers(self.options, logs) as cluster,
            self._reported_tasks(),
        ):
            self.emit(WorkersChanged(cluster.workers, cluster.dashboard))
            schedule = self.schedule(todo)
            with closing(WorkerCheck(cluster, self.store, self._witness(), logs)) as welcome:
                Execution(
                    cluster,
                    schedule,
                    self.store,
                    self._record_tasks,
                    welcome,
                    interrupt,
                    self.options.fail_fast,
                    say,
                    self.inputs_of,
                ).run()
            if interrupt.requested and (pending := len(self.pending())):
                raise InterruptedRunError(
                    f"stopped; {pending:,} of {len(self._stages):,} tasks are left. `pipeline resume "
                    f"{quoted(self.root)}`, or the same command, continues the run"
                )

    def schedule(self, todo: set[str]) -> Schedule:
        """Return the schedule of some of the tasks; those that open-ended tasks ask for are added later."""
        known = self.plan.known_tasks(self.finished)
        failed = {name for name, entry in self.finished.items() if entry.failed}
        results = {t.name: self.finished[t.name].result for t in known if t.is_open_ended and t.name in self.finished}
        return Schedule(self.plan.tasks, {task.name for task in known} - todo, failed, results)

    @contextmanager
    def _reported_tasks(self) -> Iterator[None]:
        """Emit the events that begin and end the execution of tasks."""
        finished = (self._stages[name] for name in self.finished if name in self._stages)
        self.emit(TasksStarted(Counter(self._stages.values()), Counter(finished)))
        try:
            yield
        finally:
            self.emit(TasksStopped())

    def _record_tasks(self, entries: list[Finished]) -> None:
        self.record(entries)
        for entry in entries:
            stage = self._stages.get(entry.name, "")
            self.emit(TaskFinished(entry.name, stage, entry.seconds, entry.failed))

    def _forget_lost(self, todo: set[str]) -> None:
        """Leave out of the digests of inputs what is about to be computed again."""
        for name in todo & self._lost.keys():
            self._inputs.replace(self._lost.pop(name).digests, {})

    def _witness(self) -> tuple[str, str]:
        """Return the key of a stored file that workers have to see, and its digest."""
        digests = self.finished[data_entry(self.plan.datasets[0].name)].digests
        return next((key, digest) for key, digest in digests.items() if key.endswith("/zarr.json"))

    def record(self, entries: list[Finished]) -> None:
        """Append entries to the ledger, as long as the lock is held."""
        if entries:
            self.ledger.journal.check_place()
            self._fence.check()
            self.ledger.append(*entries)
            for entry in entries:
                before = self._lost.pop(entry.name, None) or self.finished.get(entry.name)
                self._inputs.replace(before.digests if before else {}, entry.digests)
            self.finished |= {entry.name: entry for entry in entries}
            if self._again:
                self._again -= {entry.name for entry in entries}

    def _update_cleaned(self, cleaned: Finished) -> None:
        """Record that datasets whose arrays are computed again are no longer cleaned."""
        pending = {dataset.name for dataset in self.plan.datasets if is_left(dataset, self.finished)}
        still = [name for name in cleaned.result["datasets"] if name not in pending]
        if still != cleaned.result["datasets"]:
            self.ledger.append(Finished(CLEANED, "", {}, {"datasets": still}, 0.0, 0))

    def tables(self) -> RunTables:
        """Return the rows, their summary and the notes; write the tables unless they exist and would be the same."""
        return update_tables(self.root, self.store, self.plan, self.finished, self.ledger, self._fence)
