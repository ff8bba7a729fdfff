"""Decide which tasks are sent to workers next: those that can run now, then those that can be sent ahead.

Tasks whose dependencies are finished come first (`take`), since they can run immediately. Others can be sent as soon as
all their dependencies have been sent (`take_ahead`), together with the futures of these dependencies.
"""

from collections.abc import Container, Iterable, Mapping
from heapq import heappop, heappush

from kernel_pipeline.plan.graph import Graph
from kernel_pipeline.run.batches import Batches
from kernel_pipeline.run.dependencies import FAILED, FINISHED, NEW, TAKEN, Dependencies
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.task_results import TaskResult

TaskBatch = tuple[Task, ...]
"""Tasks that are sent to a worker together."""
Results = Mapping[str, TaskResult]
"""Results of open-ended tasks, by the name of the task."""


class Schedule:
    """The tasks of a run that are still to be executed.

    Parameters
    ----------
    tasks
        All tasks, in order of preference.
    done
        Names of tasks that need not run.
    failed
        Names of the tasks in `done` that failed; their dependents cannot run.
    results
        The results of finished open-ended tasks by name, which determine the tasks that follow them.
    """

    def __init__(
        self, tasks: Iterable[Task], done: Container[str], failed: Container[str] = (), results: Results | None = None
    ) -> None:
        self._graph = Graph(tuple(tasks))
        self._done, self._failed, self._results = done, failed, dict(results or {})
        self._ready: list[int] = []
        self._ahead: list[int] = []
        self._batches = Batches()
        self._inner: dict[int, Schedule] = {}
        """Schedules of the tasks that open-ended tasks have requested, by the number of the open-ended task."""
        state = bytearray(self._initial_state(number) for number in range(len(self._graph.tasks)))
        for number, task in enumerate(self._graph.tasks):
            if state[number] == NEW:
                self._batches.expect(task)
        self._dependencies = Dependencies(self._graph, state, self)
        self._dependencies.start()
        self._close_inner()

    def take(self, idle: bool = False) -> TaskBatch | None:
        """Take the next tasks whose dependencies are all finished.

        Parameters
        ----------
        idle
            Whether workers are idle. Only then is a batch taken that other tasks could still join.
        """
        for inner in self._inner.values():
            if batch := inner.take(idle):
                return batch
        numbers: list[int] = []
        while self._ready and not numbers:
            number = heappop(self._ready)
            if self._dependencies.state[number] == NEW:
                numbers = self._batches.pop(number, self._graph.tasks[number])
        if idle and not numbers:
            numbers = self._batches.pop_incomplete()
        return self._take(numbers) if numbers else None

    def take_ahead(self, sent: Container[str]) -> TaskBatch | None:
        """Take the next task with unfinished dependencies, all of which the scheduler has.

        Parameters
        ----------
        sent
            Names of the tasks that the scheduler has.
        """
        while self._ahead:
            number = heappop(self._ahead)
            if self._dependencies.state[number] != NEW:
                continue
            missing = [self._graph.tasks[other].name for other in self._dependencies.missing(number)]
            if missing and all(name in sent for name in missing):
                return self._take([number])
            # Otherwise a dependency is not sent yet; `take` returns the task once all its dependencies are finished.
        return None

    def unfinished_dependencies(self, batch: TaskBatch) -> list[str]:
        """Return the names of the unfinished tasks that a batch needs."""
        names: dict[str, None] = {}
        for owner, number in map(self._find, batch):
            names |= {owner._graph.tasks[other].name: None for other in owner._dependencies.missing(number)}
        return list(names)

    def is_waiting(self, batch: TaskBatch) -> bool:
        """Return whether a batch needs unfinished tasks."""
        return any(owner._dependencies.is_waiting(number) for owner, number in map(self._find, batch))

    def is_dropped(self, batch: TaskBatch) -> bool:
        """Return whether a batch cannot run, since a task that it needs has failed."""
        return any(owner._dependencies.state[number] == FAILED for owner, number in map(self._find, batch))

    def finish(self, batch: TaskBatch, results: Results | None = None) -> None:
        """Mark tasks as finished; the results of open-ended tasks may request more tasks."""
        for task in batch:
            owner, number = self._find(task)
            if results and task.name in results:
                owner._results[task.name] = results[task.name]
            if not owner._add_requested(number):
                owner._dependencies.finish(number)
        self._close_inner()

    def fail(self, batch: TaskBatch) -> None:
        """Mark tasks as failed; their dependents cannot run."""
        for owner, number in map(self._find, batch):
            owner._dependencies.fail(number)
        self._close_inner()

    def put_back(self, batch: TaskBatch) -> None:
        """Treat tasks as not taken, since one that they need has to be sent again; they wait until it is finished."""
        for owner, number in map(self._find, batch):
            if owner._dependencies.state[number] == TAKEN:
                owner._batches.expect(owner._graph.tasks[number])
                owner._dependencies.put_back(number)

    def add(self, number: int) -> None:
        """Make a task available that can run now."""
        if (first := self._batches.add(number, self._graph.tasks[number])) is not None:
            heappush(self._ready, first)

    def add_ahead(self, number: int) -> None:
        """Make a task available to be sent ahead, unless it joins a batch or runs alone once it can run."""
        task = self._graph.tasks[number]
        if task.batch_key is None and not task.may_spread:
            heappush(self._ahead, number)

    def remove(self, number: int) -> None:
        """Remove a task that cannot run from its batch, so that the batch does not wait for it."""
        if (first := self._batches.remove(self._graph.tasks[number])) is not None:
            heappush(self._ready, first)

    def _initial_state(self, number: int) -> int:
        name = self._graph.tasks[number].name
        if name in self._failed:
            return FAILED
        if name not in self._done:
            return NEW
        return TAKEN if self._add_requested(number) else FINISHED

    def _find(self, task: Task) -> "tuple[Schedule, int]":
        """Return the schedule that a task belongs to, and its number there."""
        if (found := self._search(task.name)) is None:
            raise KeyError(task.name)
        return found

    def _search(self, name: str) -> "tuple[Schedule, int] | None":
        if (number := self._graph.number.get(name)) is not None:
            return self, number
        return next((found for inner in self._inner.values() if (found := inner._search(name))), None)

    def _take(self, numbers: list[int]) -> TaskBatch:
        tasks = tuple(self._graph.tasks[number] for number in numbers)
        for number, task in zip(numbers, tasks, strict=True):
            self._dependencies.take(number, task.is_open_ended)
        return tasks

    def _add_requested(self, number: int) -> bool:
        """Add the tasks that a finished open-ended task requests; return whether any of them is not finished."""
        task = self._graph.tasks[number]
        if not task.is_open_ended or task.name not in self._results:
            return False
        inner = Schedule(task.follow_up(self._results[task.name]), self._done, self._failed, self._results)
        if inner._is_finished and FAILED not in inner._dependencies.state:
            return False
        self._inner[number] = inner
        return True

    @property
    def _is_finished(self) -> bool:
        state = self._dependencies.state
        return NEW not in state and TAKEN not in state

    def _close_inner(self) -> None:
        """Finish open-ended tasks when all tasks that they requested are finished."""
        for number, inner in list(self._inner.items()):
            inner._close_inner()
            if inner._is_finished:
                del self._inner[number]
                if FAILED in inner._dependencies.state:
                    self._dependencies.fail(number)
                else:
                    self._dependencies.finish(number)
