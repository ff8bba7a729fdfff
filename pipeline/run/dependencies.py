"""Track which tasks of a graph can be taken, while others are taken, finish and fail.

A task is *taken* when the schedule returns it to be sent to Dask's scheduler. `graphlib` orders the tasks: it returns a
task once all tasks that it needs are taken, not finished, so that the task can be sent together with the futures of the
unfinished ones. Tasks are identified by their number in the graph.
"""

from typing import Protocol

from kernel_pipeline.plan.graph import Graph

NEW, TAKEN, FINISHED, FAILED = range(4)
# States of a task in the sorter: it was returned by the sorter, or its dependents need not wait for it.
RETURNED, DONE = 1, 2


class Queue(Protocol):
    """Receiver of the tasks that become available."""

    def add(self, number: int) -> None:
        """Add a task whose dependencies are all finished."""

    def add_ahead(self, number: int) -> None:
        """Add a task with unfinished dependencies, all of which are taken."""

    def remove(self, number: int) -> None:
        """Remove a task that cannot run and was not taken."""


class Dependencies:
    """The states of the tasks of a graph.

    Parameters
    ----------
    state
        The initial state of each task; it is kept up to date.
    queue
        Receives the tasks that become available.
    """

    def __init__(self, graph: Graph, state: bytearray, queue: Queue) -> None:
        self._graph, self.state, self._queue = graph, state, queue
        self._sorted = bytearray(len(state))
        self._unfinished_writers: dict[int, set[int]] = {}
        """For each part of an array, the tasks that were taken to write it and are not finished."""
        self._missing: dict[int, set[int]] = {}
        """For each task that the sorter has returned, the unfinished tasks that it needs."""
        self._followers: dict[int, list[int]] = {}
        """For each unfinished task, the tasks in `_missing` that need it."""
        self._failed_parts = {
            part for number, now in enumerate(state) if now == FAILED for part in graph.parts_of.get(number, ())
        }
        unfinished = {number for number, now in enumerate(state) if now in (NEW, TAKEN)}
        self._sorter = graph.sorter(unfinished)

    def start(self) -> None:
        """Make the first tasks available."""
        self._advance()

    def missing(self, number: int) -> list[int]:
        """Return the unfinished tasks that a task needs, in the order of the graph."""
        return sorted(self._missing.get(number, ()))

    def is_waiting(self, number: int) -> bool:
        """Return whether a task needs unfinished tasks."""
        return number in self._missing

    def take(self, number: int, is_open_ended: bool) -> None:
        """Mark a task as taken. Dependents of an open-ended one cannot be taken before it is finished."""
        self.state[number] = TAKEN
        for part in self._graph.parts_of.get(number, ()):
            self._unfinished_writers.setdefault(part, set()).add(number)
        if not is_open_ended:
            self._mark_sorted(number)

    def put_back(self, number: int) -> None:
        """Mark a task as not taken; it becomes available when the tasks that it needs are finished."""
        self.state[number] = NEW
        if number not in self._missing:
            self._queue.add(number)

    def finish(self, number: int) -> None:
        """Mark a task as finished."""
        self.state[number] = FINISHED
        self._release(number)
        self._mark_sorted(number)

    def fail(self, number: int) -> None:
        """Mark a task as failed, and all tasks that depend on it."""
        self._fail(number)
        self._advance()

    def _fail(self, number: int) -> None:
        failed: list[int] = []
        pending = [number]
        while pending:  # all are marked before any is released, so that none of them becomes available
            current = pending.pop()
            before = self.state[current]
            if before in (NEW, TAKEN):
                self.state[current] = FAILED
                failed.append(current)
                pending += self._followers.get(current, ())
                if before == NEW:
                    self._queue.remove(current)
        for current in failed:
            self._failed_parts.update(self._graph.parts_of.get(current, ()))
            self._release(current)
            self._sorter_done(current)

    def _release(self, number: int) -> None:
        """Remove a task from the unfinished dependencies of others, and make tasks available that have none left."""
        for part in self._graph.parts_of.get(number, ()):
            self._unfinished_writers.get(part, set()).discard(number)
        for follower in self._followers.pop(number, ()):
            missing = self._missing[follower]
            missing.discard(number)
            if not missing:
                del self._missing[follower]
                if self.state[follower] == NEW:
                    self._queue.add(follower)

    def _mark_sorted(self, number: int) -> None:
        self._sorter_done(number)
        self._advance()

    def _sorter_done(self, number: int) -> None:
        """Tell the sorter that dependents need not wait; it accepts this only after it has returned the task."""
        if self._sorted[number] == RETURNED:
            self._sorter.done(number)
        self._sorted[number] = DONE

    def _advance(self) -> None:
        """Make the tasks that the sorter returns available."""
        while nodes := self._sorter.get_ready():
            for node in nodes:
                if node >= len(self.state) or self._sorted[node] == DONE:
                    self._sorter.done(node)
                    continue
                self._sorted[node] = RETURNED
                if any(self._is_failed(before) for before in self._graph.needs[node]):
                    self._fail(node)
                elif self.state[node] == NEW:
                    self._offer(node)

    def _offer(self, number: int) -> None:
        """Make a task available, either to run now or to be sent ahead of its unfinished dependencies."""
        missing: set[int] = set()
        for node in self._graph.needs[number]:
            if node >= len(self.state):
                missing |= self._unfinished_writers.get(node, set())
            elif self.state[node] in (NEW, TAKEN):
                missing.add(node)
        if not missing:
            self._queue.add(number)
            return
        self._missing[number] = missing
        for other in missing:
            self._followers.setdefault(other, []).append(number)
        self._queue.add_ahead(number)

    def _is_failed(self, node: int) -> bool:
        return node in self._failed_parts if node >= len(self.state) else self.state[node] == FAILED
