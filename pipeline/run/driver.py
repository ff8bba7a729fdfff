"""One run in its directory: what is finished, what is left, and the tables at the end."""

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Literal, TypeVar

from rich.console import Console

from kernel_pipeline.cli.progress import Progress
from kernel_pipeline.cluster import open_cluster
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.errors import InterruptedRunError, StorageError
from kernel_pipeline.plan.arrays import data_identity
from kernel_pipeline.plan.failures import failed_and_dependents, failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.manifest import own_arrays_root
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.stored_data import create_arrays
from kernel_pipeline.run.tables import RunTables, update_tables
from kernel_pipeline.run.verification import CLEANED, Verdict, data_entry, examine, is_left, superseded_tasks
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.fence import Fence, guarded_arrays
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.inputs import InputDigests, Total
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root

log = logging.getLogger("kernel_pipeline")

T = TypeVar("T")

LOCAL = Profile()

# Damage that shows only while a run goes on is mended so many times; more is a broken disk.
MOST_REPAIRS = 3


@dataclass(frozen=True)
class Options:
    """How to run, which changes no result."""

    profile: Profile = LOCAL
    verify: Literal["quick", "full"] = "quick"
    fail_fast: bool = False
    retry_failed: bool = False
    accept_changes: bool = False


class Run:
    """One sweep in its directory, whose lock is held.

    Parameters
    ----------
    token
        That of the lock: what is written, here and by workers, is written as long as the lock holds it.
    """

    def __init__(
        self,
        root: Root,
        plan: Plan,
        samples: Callable[[str], PreparedDataset],
        ledger: Ledger,
        options: Options,
        console: Console,
        token: str = "",
    ) -> None:
        self.root, self.plan, self.options, self.console = root, plan, options, console
        self._samples = samples
        self.ledger = ledger
        self.store = RunStore(own_arrays_root(root, ledger.read()), token)
        self._fence = Fence(root, token)
        self.finished: dict[str, Finished] = {}
        self._lost: dict[str, Finished] = {}
        """What was finished and is to be done again, as the ledger has it."""
        self._inputs = InputDigests()
        self.damaged: set[str] = set()
        """The names of what was finished and turned out to be damaged."""
        self._again: set[str] | None = None
        """What is to be tried again and was not yet."""

    def guarded(self) -> AbstractContextManager[None]:
        """Let workers see, where the arrays are, that this run has the lock."""
        return guarded_arrays(self.root, self.store.root, self._fence.token)

    def examine(self, full: bool) -> Verdict:
        """See what is finished and sound; what failed counts as finished, unless it is to be tried again."""
        recorded = self.ledger.read()
        if self.options.retry_failed and self._again is None:
            names = [failed_and_dependents(dataset, recorded) for dataset in self.plan.datasets]
            self._again = set().union(*names)
        verdict = examine(self.plan, recorded, self.store.root, full, self._again or ())
        for problem in verdict.problems:
            log.warning("%s; %s is done again", problem, problem.entry)
            self.store.root.make_way(problem.key)
        for name in verdict.superseded:
            log.warning("%s was built on something that has since changed; it is done again", name)
        self.damaged |= {*verdict.superseded, *(problem.entry for problem in verdict.problems)}
        self.finished, self._lost, self._inputs = verdict.valid, verdict.lost, verdict.inputs
        if CLEANED in recorded:
            self._forget_cleaning(recorded[CLEANED])
        return verdict

    def inputs_of(self, task: Task) -> tuple[Total, ...]:
        """The ledger's digests of what a task reads."""
        return self._inputs.of(task)

    def left(self) -> set[str]:
        """The names of tasks that are to do: not finished, and not stuck behind one that failed."""
        stuck = {name for dataset in self.plan.datasets for name in failures(dataset, self.finished)}
        return {task.name for task in self.plan.known_tasks(self.finished)} - self.finished.keys() - stuck

    def damaged_left(self) -> set[str]:
        """What is left of what was damaged, and what is left before it, which it may build on."""
        left, names = self.left(), set()
        for dataset in self.plan.datasets:
            known = dataset.known_tasks(self.finished)
            damaged = {task.name for task in known if task.name in left and task.name in self.damaged}
            names |= damaged | (dataset.known_graph(self.finished).ancestors(damaged) & left)
        return names

    def complete(self) -> RunTables:
        """Do all that is left; gives the rows of the tables, their summary and the notes."""
        self.finish(self.left)
        return self.tables()

    def finish(self, todo: Callable[[], set[str]]) -> None:
        """Store data that are not stored, and run tasks; then those that were built on what came out differently."""
        may_differ = self.store_data()
        while True:  # no more often than there are stages, since one that is done again is final
            if may_differ:
                self._set_back_superseded()
            if not (names := todo()):
                return
            # In a new run nothing can have been built on anything else.
            may_differ = any(task.name in self.finished for task in self.plan.tasks)
            self._forget_lost(names)
            self._run_tasks(names)

    def _set_back_superseded(self) -> None:
        """Take what was built on something that has since come out differently for not finished."""
        for dataset in self.plan.datasets:
            for name in superseded_tasks(dataset, self.finished, self._inputs):
                log.warning("%s was built on something that came out differently now; it is done again", name)
                self._lost[name] = self.finished.pop(name)
                self.damaged.add(name)

    def mending(self, work: Callable[[], T]) -> T:
        """Do some work, and it again when something that it reads turns out to be damaged, once that is marked so."""
        for _ in range(MOST_REPAIRS):
            try:
                return work()
            except DamagedError as error:
                self.ledger.journal.check_place()  # else it is not damage: all is gone
                self.console.print(f"{error}; it is computed again", highlight=False, soft_wrap=True, markup=False)
                self.examine(full=True)
        raise StorageError(f"{self.root} is damaged again and again while the run goes on; look at its disk")

    def store_data(self) -> bool:
        """Store data that are not stored; gives whether there were any."""
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
                    result={"outline": dataset.outline.values()},
                    seconds=round(time.perf_counter() - begin, 6),
                    peak_memory=0,
                )
                self.record([entry])
                is_any = True
        return is_any

    def _run_tasks(self, todo: set[str]) -> None:
        from kernel_pipeline.run.executor import Execution  # brings distributed, which a finished run does not need
        from kernel_pipeline.run.worker_check import Welcome

        console, options = self.console, self.options
        with (
            Interrupt(self._say) as interrupt,
            open_cluster(options.profile, self.root.logs().folder) as opened,
            Progress(console, self.plan) as progress,
        ):
            self._say(f"{opened.workers} workers; dashboard: {opened.dashboard}")
            for entry in self.finished.values():
                progress.advance(entry)

            def record(entries: list[Finished]) -> None:
                self.record(entries)
                for entry in entries:
                    log.info("done %s in %.3f s %s", entry.name, entry.seconds, entry.failed)
                    progress.advance(entry)

            schedule = self.schedule(todo)
            with closing(Welcome(opened, self.store, self._witness(), self.root.logs().folder)) as welcome:
                Execution(
                    opened,
                    schedule,
                    self.store,
                    record,
                    welcome,
                    interrupt,
                    options.fail_fast,
                    self._say,
                    self.inputs_of,
                ).run()
            if interrupt.requested and (left := len(self.left())):
                raise InterruptedRunError(
                    f"stopped; {left:,} of {len(self.plan.tasks):,} tasks are left. `pipeline resume "
                    f"{quoted(self.root)}`, or the same command, goes on"
                )

    def schedule(self, todo: set[str]) -> Schedule:
        """Return the schedule of some of the tasks; what open-ended ones ask for is added as they finish."""
        known = self.plan.known_tasks(self.finished)
        failed = {name for name, entry in self.finished.items() if entry.failed}
        results = {t.name: self.finished[t.name].result for t in known if t.is_open_ended and t.name in self.finished}
        return Schedule(self.plan.tasks, {task.name for task in known} - todo, failed, results)

    def _forget_lost(self, todo: set[str]) -> None:
        """Leave out of the digests of inputs what is about to be computed again."""
        for name in todo & self._lost.keys():
            self._inputs.replace(self._lost.pop(name).digests, {})

    def _witness(self) -> tuple[str, str]:
        """A file of the arrays that workers have to see, and its digest."""
        digests = self.finished[data_entry(self.plan.datasets[0].name)].digests
        return next((key, digest) for key, digest in digests.items() if key.endswith("/zarr.json"))

    def _say(self, line: str) -> None:
        self.console.print(line, highlight=False, soft_wrap=True, markup=False)

    def record(self, entries: list[Finished]) -> None:
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

    def _forget_cleaning(self, cleaned: Finished) -> None:
        """Datasets whose arrays are computed anew are not clean any longer."""
        anew = {dataset.name for dataset in self.plan.datasets if is_left(dataset, self.finished)}
        still = [name for name in cleaned.result["datasets"] if name not in anew]
        if still != cleaned.result["datasets"]:
            self.ledger.append(Finished(CLEANED, "", {}, {"datasets": still}, 0.0, 0))

    def tables(self) -> RunTables:
        """Return what is shown at the end; the tables are written unless they are up to date."""
        return update_tables(self.root, self.store, self.plan, self.finished, self.ledger, self._fence)
