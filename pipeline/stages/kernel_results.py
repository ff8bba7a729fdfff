"""Define the results of the tasks that describe or fit single base kernels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.tasks.arrays import Booleans

MAX_NAMED_KERNELS = 5
"""Maximum number of kernels that a note lists by name."""


@dataclass(frozen=True)
class KernelFits(TaskResult):
    """Result of a task that fits several base kernels separately; arrays contain their errors."""

    failed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Indices of the kernels without a fit, by the reason."""

    def to_json(self) -> dict[str, Any]:
        return {"failed": {reason: list(kernels) for reason, kernels in self.failed.items()}}

    @classmethod
    def from_json(cls, value: object) -> Self:
        failed = JsonObject(value, "the result").object("failed")
        found = {reason: failed.items(reason) for reason in failed.names()}
        if wrong := [reason for reason, kernels in found.items() if not all(map(_is_index, kernels))]:
            raise failed.error(wrong[0], "a list of indices of kernels")
        return cls({reason: tuple(kernels) for reason, kernels in found.items()})


@dataclass(frozen=True)
class MarkedKernels:
    """Base kernels that have some property in at least one trial: their number, and the first few of them."""

    count: int = 0
    """Number of kernels that have the property in at least one trial."""
    most: int = 0
    """Largest number of them in one trial."""
    first: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Index of each kernel, with the trials in which it has the property."""

    @classmethod
    def of(cls, marked: Booleans, trials: Sequence[int]) -> Self:
        """Return the marked kernels of a Boolean array, (trials, p), given the numbers of these trials."""
        kernels = np.flatnonzero(marked.any(axis=0))
        numbers = np.asarray(trials, dtype=np.int64)
        first = [(int(k), tuple(numbers[marked[:, k]].tolist())) for k in kernels[:MAX_NAMED_KERNELS]]
        return cls(len(kernels), int(marked.sum(axis=1).max(initial=0)), tuple(first))

    @classmethod
    def merged(cls, parts: Sequence["MarkedKernels"]) -> Self:
        """Return the marked kernels of tasks of different trials.

        Each task reports the indices of its first kernels only, so the count may be too small if a task has more.
        """
        trials: dict[int, tuple[int, ...]] = {}
        for part in parts:
            for kernel, numbers in part.first:
                trials[kernel] = (*trials.get(kernel, ()), *numbers)
        count = max([len(trials), *(part.count for part in parts)])
        most = max((part.most for part in parts), default=0)
        return cls(count, most, tuple(sorted(trials.items())[:MAX_NAMED_KERNELS]))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {
            "count": self.count,
            "most": self.most,
            "first": [[kernel, list(trials)] for kernel, trials in self.first],
        }

    @classmethod
    def from_object(cls, found: JsonObject | None) -> Self:
        """Return the instance that a JSON object describes; None stands for no marked kernels."""
        if found is None:
            return cls()
        first = []
        for item in found.items("first"):
            if not (isinstance(item, list) and len(item) == 2 and isinstance(item[1], list)):
                raise found.error("first", "a list of pairs of a kernel and its trials")
            if not all(map(_is_index, (item[0], *item[1]))):
                raise found.error("first", "a list of pairs of the index of a kernel and the numbers of its trials")
            first.append((item[0], tuple(item[1])))
        count = found.integer("count")
        most = found.integer("most") if "most" in found else count  # earlier versions did not store it
        return cls(count, most, tuple(first))


@dataclass(frozen=True)
class DegenerateKernels(TaskResult):
    """Result of the task that computes the statistics: base kernels that are degenerate on a training set."""

    constant: MarkedKernels = MarkedKernels()
    """Kernels that are constant on the training set."""
    flat: MarkedKernels = MarkedKernels()
    """Kernels that are constant up to rounding, but not exactly."""
    identity: MarkedKernels = MarkedKernels()
    """Kernels that, when centered, are a multiple of the centered identity, up to rounding."""

    def has_valid_indices(self, kernels: int) -> bool:
        """Return whether the indices of all listed kernels are below `kernels`, the number of kernels."""
        marked: list[MarkedKernels] = [getattr(self, member.name) for member in fields(self)]
        return all(kernel < kernels for part in marked for kernel, _ in part.first)

    def to_json(self) -> dict[str, Any]:
        return {member.name: getattr(self, member.name).to_json() for member in fields(self)}

    @classmethod
    def from_json(cls, value: object) -> Self:
        found = JsonObject(value, "the result")
        return cls(*(MarkedKernels.from_object(found.optional_object(member.name)) for member in fields(cls)))


def _is_index(value: object) -> bool:
    return type(value) is int and value >= 0
