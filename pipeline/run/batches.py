"""Group tasks that share their inputs into batches, which are sent to a worker together."""

from collections import Counter

from kernel_pipeline.stages.task import Task


class Batches:
    """The tasks that can run, grouped by batch. Tasks are identified by their number in the graph."""

    def __init__(self) -> None:
        self._expected: Counter[str] = Counter()
        """For each batch, the number of tasks that have not been taken and can run now or later."""
        self._ready: dict[str, list[int]] = {}

    def expect(self, task: Task) -> None:
        """Register a task that will run, now or later."""
        if task.batch_key is not None:
            self._expected[task.batch_key] += 1

    def add(self, number: int, task: Task) -> int | None:
        """Add a task that can run now.

        Returns
        -------
        first
            Number of the first task of its batch, to be passed to `pop`; None until all tasks of the batch can run.
        """
        if task.batch_key is None:
            return number
        self._ready.setdefault(task.batch_key, []).append(number)
        return self._first(task.batch_key)

    def remove(self, task: Task) -> int | None:
        """Remove a task that cannot run, and return what `add` returns, since its batch may now be complete."""
        if task.batch_key is None:
            return None
        self._expected[task.batch_key] -= 1
        return self._first(task.batch_key)

    def pop(self, number: int, task: Task) -> list[int]:
        """Take a task with its batch."""
        return [number] if task.batch_key is None else self._pop(task.batch_key)

    def pop_incomplete(self) -> list[int]:
        """Take the tasks that can run now from the first incomplete batch; return an empty list if there are none."""
        return self._pop(next(iter(self._ready))) if self._ready else []

    def _pop(self, key: str) -> list[int]:
        numbers = self._ready.pop(key, [])
        self._expected[key] -= len(numbers)
        return sorted(numbers)

    def _first(self, key: str) -> int | None:
        numbers = self._ready.get(key, [])
        return min(numbers) if numbers and len(numbers) == self._expected[key] else None
