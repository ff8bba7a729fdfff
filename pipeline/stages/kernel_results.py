"""Results of the tasks that describe or fit single base kernels."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.tasks.arrays import Booleans

NAMED_KERNELS = 5
"""Number of kernels that a note names; there may be very many."""


@dataclass(frozen=True)
class KernelFits(TaskResult):
    """The result of a task that fits several base kernels, each alone: test error and status of each."""

    errors: tuple[float | None, ...]
    statuses: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"errors": list(self.errors), "statuses": list(self.statuses)}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        errors, statuses = found.optional_numbers("errors"), found.texts("statuses")
        if len(errors) != len(statuses):
            raise ValueError(f"the result: there are {len(errors)} 'errors' and {len(statuses)} 'statuses'")
        return cls(tuple(errors), tuple(statuses))


@dataclass(frozen=True)
class MarkedKernels:
    """Base kernels for which something holds in some trial: how many there are, and the first of them."""

    count: int = 0
    first: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Number of each kernel, with the trials in which it holds."""

    @classmethod
    def of(cls, marked: Booleans) -> Self:
        """Return the record of an array of marks, (trials, p)."""
        kernels = np.flatnonzero(marked.any(axis=0))
        first = [(int(k), tuple(map(int, np.flatnonzero(marked[:, k])))) for k in kernels[:NAMED_KERNELS]]
        return cls(len(kernels), tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {"count": self.count, "first": [[kernel, list(trials)] for kernel, trials in self.first]}

    @classmethod
    def from_object(cls, found: JsonObject | None) -> Self:
        """Return the record of a JSON object; without one, no kernel is marked."""
        if found is None:
            return cls()
        first = []
        for item in found.items("first"):
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[1], list)):
                raise found.error("first", "a list of pairs of a kernel and its trials")
            if not all(type(number) is int and number >= 0 for number in (item[0], *item[1])):
                raise found.error("first", "a list of numbers of kernels and trials")
            first.append((item[0], tuple(item[1])))
        return cls(found.integer("count"), tuple(first))


@dataclass(frozen=True)
class DegenerateKernels(TaskResult):
    """The result of the task that computes the statistics: base kernels that are degenerate on a training set."""

    constant: MarkedKernels = MarkedKernels()
    flat: MarkedKernels = MarkedKernels()
    identity: MarkedKernels = MarkedKernels()

    def to_json(self) -> dict[str, Any]:
        return {member.name: getattr(self, member.name).to_json() for member in fields(self)}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        return cls(*(MarkedKernels.from_object(found.optional_object(member.name)) for member in fields(cls)))
