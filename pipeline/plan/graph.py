"""Build the task graph: the dependencies of each task, derived from what the tasks read and write.

Dependencies are not stated anywhere else. A task that reads an array, or a part of one, depends on all tasks that write
it. Many tasks may read what many others have written, so the graph has an intermediate node for each such part. This
keeps the number of edges proportional to the number of tasks.
"""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter

from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.inputs import Input


class Graph:
    """The dependencies among some tasks.

    Nodes are numbers: those below the number of tasks are tasks, in the given order; the others are parts of arrays
    that several tasks write.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tuple(tasks)
        self.needs: list[tuple[int, ...]] = []
        """For each task, the nodes that it depends on."""
        self.parts: list[tuple[int, ...]] = []
        """For each part of an array that several tasks write, those tasks."""
        writers = _Writers(self.tasks)
        numbers: dict[tuple[int, ...], int] = {}
        for task in self.tasks:
            found: dict[int, None] = {}
            for written_by in writers.of(task):
                if len(written_by) == 1:
                    found[written_by[0]] = None
                    continue
                if written_by not in numbers:
                    numbers[written_by] = len(self.tasks) + len(self.parts)
                    self.parts.append(written_by)
                found[numbers[written_by]] = None
            self.needs.append(tuple(found))

    @cached_property
    def number(self) -> dict[str, int]:
        """Return the number of each task, by name."""
        return {task.name: number for number, task in enumerate(self.tasks)}

    @cached_property
    def parts_of(self) -> dict[int, list[int]]:
        """Return the nodes of the parts that each task writes together with others, by task."""
        found: dict[int, list[int]] = {}
        for place, written_by in enumerate(self.parts):
            for task in written_by:
                found.setdefault(task, []).append(len(self.tasks) + place)
        return found

    def predecessors(self, node: int) -> tuple[int, ...]:
        """Return the nodes that a node depends on."""
        return self.needs[node] if node < len(self.tasks) else self.parts[node - len(self.tasks)]

    def sorter(self, chosen: Container[int]) -> "TopologicalSorter[int]":
        """Return a sorter of some of the tasks; dependencies on other tasks are ignored."""
        sorter: TopologicalSorter[int] = TopologicalSorter()
        for number in range(len(self.tasks)):
            if number in chosen:
                sorter.add(number, *(node for node in self.needs[number] if node >= len(self.tasks) or node in chosen))
        for place, written_by in enumerate(self.parts):
            sorter.add(len(self.tasks) + place, *(task for task in written_by if task in chosen))
        sorter.prepare()
        return sorter

    def first_marked(self, marked: Collection[str]) -> dict[str, str]:
        """Return, for each task that depends on marked ones, the name of the first of these in task order."""
        if not marked:
            return {}
        marks = {self.number[name] for name in marked if name in self.number}
        first: dict[int, int] = {}
        for node in self._order():
            found = [first[before] for before in self.predecessors(node) if before in first]
            found += [before for before in self.predecessors(node) if before in marks]
            if found:
                first[node] = min(found)
        return {self.tasks[node].name: self.tasks[first[node]].name for node in sorted(first) if node < len(self.tasks)}

    def ancestors(self, names: Collection[str]) -> set[str]:
        """Return the names of all tasks that some tasks depend on, directly or not."""
        seen: set[int] = set()
        pending = [self.number[name] for name in names]
        while pending:
            new = [node for node in self.predecessors(pending.pop()) if node not in seen]
            seen.update(new)
            pending += new
        return {self.tasks[node].name for node in seen if node < len(self.tasks)}

    def _order(self) -> Iterator[int]:
        sorter = self.sorter(range(len(self.tasks)))
        while sorter.is_active():
            for node in sorter.get_ready():
                yield node
                sorter.done(node)


class _Writers:
    """The tasks that write each array or part of an array."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        arrays: dict[str, list[int]] = {}
        parts: dict[str, list[int]] = {}
        for number, task in enumerate(tasks):
            for written in task.writes():
                arrays.setdefault(written.array, []).append(number)
                for part in written.parts:
                    parts.setdefault(part, []).append(number)
        # One tuple for each array and part, so that tasks that read the same inputs share a node.
        self._arrays: Mapping[str, tuple[int, ...]] = {name: tuple(numbers) for name, numbers in arrays.items()}
        self._parts: Mapping[str, tuple[int, ...]] = {name: tuple(numbers) for name, numbers in parts.items()}

    def of(self, task: Task) -> Iterator[tuple[int, ...]]:
        """Yield the writers of each input of a task; nothing for the data, which no task writes."""
        for needed in task.inputs():
            if needed.array in self._arrays:
                yield from self._of_input(needed)

    def _of_input(self, needed: Input) -> Iterator[tuple[int, ...]]:
        if needed.parts == (needed.array,):
            yield self._arrays[needed.array]
            return
        for part in (needed.array, *needed.parts):  # a task may write the whole array
            if part in self._parts:
                yield self._parts[part]
