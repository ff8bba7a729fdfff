"""One run in its directory: what is finished, what is left, and the tables at the end."""

import hashlib
import json
import logging
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, TypeVar

import pandas as pd
from rich.console import Console

from cluster import open_cluster
from cluster.profile import Profile
from pipeline.errors import InterruptedRunError, StorageError
from pipeline.interrupt import Interrupt
from pipeline.layout import create_arrays, data_identity
from pipeline.ledger import Ledger
from pipeline.plan import Plan
from pipeline.progress import Progress
from pipeline.record import own_arrays_root
from pipeline.samples import Samples
from pipeline.schedule import Schedule, failed_and_what_builds_on_it, failures
from pipeline.storage.files import quoted
from pipeline.storage.root import Root
from pipeline.store import DamagedError, RunStore
from pipeline.summary import summarise, write_summary
from pipeline.tables import TABLES_VERSION, read_rows, table_digests, write_tables
from pipeline.task import STAGES, Finished
from pipeline.verification import CLEANED, TABLES, Verdict, check_files, data_entry, examine, is_left

log = logging.getLogger("pipeline")

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
    """One sweep in its directory, whose lock is held."""

    def __init__(
        self,
        root: Root,
        plan: Plan,
        samples: Callable[[str], Samples],
        ledger: Ledger,
        options: Options,
        console: Console,
    ) -> None:
        self.root, self.plan, self.options, self.console = root, plan, options, console
        self._samples = samples
        self.ledger = ledger
        self.store = RunStore(own_arrays_root(root, ledger.read()))
        self.finished: dict[str, Finished] = {}
        self.damaged: set[str] = set()
        """The names of what was finished and turned out to be damaged."""
        self._again: set[str] | None = None
        """What is to be tried again and was not yet."""

    def examine(self, full: bool) -> Verdict:
        """See what is finished and sound; what failed counts as finished, unless it is to be tried again."""
        recorded = self.ledger.read()
        if self.options.retry_failed and self._again is None:
            names = [failed_and_what_builds_on_it(dataset, recorded) for dataset in self.plan.datasets]
            self._again = set().union(*names)
        verdict = examine(self.plan, recorded, self.store.root, full, self._again or ())
        for problem in verdict.problems:
            log.warning("%s; %s is done again", problem, problem.entry)
            self.store.root.make_way(problem.key)
        self.damaged |= {problem.entry for problem in verdict.problems}
        self.finished = verdict.valid
        if CLEANED in recorded:
            self._forget_cleaning(recorded[CLEANED])
        return verdict

    def left(self) -> set[str]:
        """The names of tasks that are to do: not finished, and not stuck behind one that failed."""
        stuck = {name for dataset in self.plan.datasets for name in failures(dataset, self.finished)}
        return {task.name for task in self.plan.tasks} - self.finished.keys() - stuck

    def damaged_left(self) -> set[str]:
        """What is left of what was damaged, and what is left before it, which it may build on."""
        left, names = self.left(), set()
        for dataset in self.plan.datasets:
            tasks = [task for task in dataset.tasks if task.name in left]
            damaged = {task.name: STAGES.index(task.stage) for task in tasks if task.name in self.damaged}
            last = max(damaged.values(), default=0)
            names |= {task.name for task in tasks if task.name in damaged or STAGES.index(task.stage) < last}
        return names

    def complete(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Do all that is left; gives the rows of the tables and their summary."""
        self.finish(self.left)
        return self.tables()

    def finish(self, todo: Callable[[], set[str]]) -> None:
        """Store data that are not stored, and run tasks."""
        self.store_data()
        if names := todo():
            self._run_tasks(names)

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

    def store_data(self) -> None:
        for dataset in self.plan.datasets:
            name = data_entry(dataset.name)
            if name not in self.finished:
                begin = time.perf_counter()
                digests = create_arrays(self.store.root, dataset, self._samples(dataset.name))
                entry = Finished(
                    name=name,
                    identity=data_identity(dataset),
                    digests=digests,
                    result={"outline": dataset.outline.values()},
                    seconds=round(time.perf_counter() - begin, 6),
                    peak_memory=0,
                )
                self.record([entry])

    def _run_tasks(self, todo: set[str]) -> None:
        from pipeline.execution import Execution  # brings distributed, which a finished run does not need
        from pipeline.welcome import Welcome

        console, options = self.console, self.options
        with (
            Interrupt() as interrupt,
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

            done = {task.name for task in self.plan.tasks} - todo
            set_aside = {name for name, entry in self.finished.items() if entry.failed}
            schedule = Schedule(self.plan, done, set_aside)
            with closing(Welcome(opened, self.store, self._witness(), self.root.logs().folder)) as welcome:
                Execution(opened, schedule, self.store, record, welcome, interrupt, options.fail_fast, self._say).run()
            if interrupt.requested and (left := len(self.left())):
                raise InterruptedRunError(
                    f"stopped; {left:,} of {len(self.plan.tasks):,} tasks are left. `pipeline resume "
                    f"{quoted(self.root)}`, or the same command, goes on"
                )

    def _witness(self) -> tuple[str, str]:
        """A file of the arrays that workers have to see, and its digest."""
        digests = self.finished[data_entry(self.plan.datasets[0].name)].digests
        return next((key, digest) for key, digest in digests.items() if key.endswith("/zarr.json"))

    def _say(self, line: str) -> None:
        self.console.print(line, highlight=False, soft_wrap=True, markup=False)

    def record(self, entries: list[Finished]) -> None:
        if entries:
            self.ledger.append(*entries)
            self.finished |= {entry.name: entry for entry in entries}
            if self._again:
                self._again -= {entry.name for entry in entries}

    def _forget_cleaning(self, cleaned: Finished) -> None:
        """Datasets whose arrays are computed anew are not clean any longer."""
        anew = {dataset.name for dataset in self.plan.datasets if is_left(dataset, self.finished)}
        still = [name for name in cleaned.result["datasets"] if name not in anew]
        if still != cleaned.result["datasets"]:
            self.ledger.append(Finished(CLEANED, "", {}, {"datasets": still}, 0.0, 0))

    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows and their summary; the tables are written, unless they are there and would be the same."""
        entry = self.ledger.read().get(TABLES)
        built_from = self._built_from()
        if entry and entry.identity == built_from and not any(check_files(entry, {}, self.root)):
            rows = read_rows(self.root)
            return rows, summarise(rows)
        rows = write_tables(self.root, self.store, self.plan, self.finished)
        summary = summarise(rows)
        write_summary(self.root, summary)
        self.ledger.append(
            Finished(TABLES, built_from, table_digests(self.root), {"sweep": self.plan.identity}, 0.0, 0)
        )
        return rows, summary

    def _built_from(self) -> str:
        """A digest of what the tables are made of: the very runs of tasks that are finished."""
        done = [(name, entry.identity, entry.seconds) for name, entry in sorted(self.finished.items())]
        return hashlib.sha256(json.dumps([TABLES_VERSION, self.plan.identity, done]).encode()).hexdigest()[:16]
