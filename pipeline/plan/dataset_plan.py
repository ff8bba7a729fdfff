"""Define the plan of one dataset: its tasks by stage, and the memory and disk space that they need."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from kernel_pipeline.plan.follow_ups import with_follow_ups
from kernel_pipeline.plan.gram_storage import GramStorage
from kernel_pipeline.plan.graph import Graph
from kernel_pipeline.plan.large_fits import smaller_memory, temporary_bytes
from kernel_pipeline.plan.memory import rows_within_memory
from kernel_pipeline.plan.methods import UnsupportedMethod
from kernel_pipeline.plan.training_sizes import training_samples
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.text import format_bytes

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class DatasetPlan:
    """The tasks of one dataset by stage, and the memory and disk space that they need."""

    info: DatasetInfo
    problems: tuple[str, ...]
    rank_one: bool
    families: tuple[GramFamily, ...]
    """The Gram families; empty for a rank-one family."""
    folds: int
    """Number of trials of a repeat: the number of folds, not counting a fixed test set."""
    fixed_test: bool
    """Whether there is one more fold, which is the test set of every trial."""
    tile_size: int
    method_keys: tuple[tuple[str, str], ...]
    """Method keys (pairs of a problem and a method) that have rows in the tables, in all trials."""
    unsupported: tuple[UnsupportedMethod, ...]
    """Methods that are left out."""
    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""
    arrays: tuple[ArrayPlan, ...]
    """All arrays, in the order in which they are created."""
    gram: GramStorage | None = None
    """What is stored of the Gram matrices; None for a rank-one family, which has none."""
    repeats: int = 1
    """Number of times that the samples are assigned to folds."""

    @property
    def trials(self) -> int:
        """Return the number of trials of all repeats."""
        return self.repeats * self.folds

    @property
    def disk_bytes(self) -> int:
        """Return the stored size of all arrays."""
        return sum(array.stored_bytes for array in self.arrays)

    @property
    def optional_bytes(self) -> int:
        """Return the stored size of the Gram matrices and combined kernels, which could also be recomputed."""
        return sum(array.stored_bytes for array in self.arrays if array.is_optional)

    def temporary_bytes(self, workers: int, limit: int | None) -> int:
        """Return the size of the temporary files of all workers, given the bytes that each may use, if known."""
        return temporary_bytes(self.stages["fits"], workers, limit)

    def memory_shortage(self, limit: int, workers: int) -> str:
        """Return why the largest task does not fit in the memory of a worker; empty if it does."""
        size, stage = max((size, stage) for stage, size in self.memory.items())
        if size <= limit:
            return ""
        if stage in ("tiles", "combine"):
            smaller = "a smaller [storage] tile"
        elif stage in ("reduce", "weights"):
            smaller = f"fewer kernels ({len(self.kernels):,} now)"
        else:
            rows = rows_within_memory(self.info.rows, size, limit)
            smaller = f"fewer rows ({self.info.rows} now{f'; about {rows:,} would fit' if rows else ''})"
            if memory := smaller_memory(self.of(FitTask), training_samples(self.info, self.folds), limit):
                smaller += f", or solve the fits in parts (--set fit.memory='{memory}')"
        fewer = workers * limit // size
        advice = f"fewer workers (--workers {fewer}), " if fewer else ""
        return (
            f"dataset {self.name!r}: a task of stage {stage!r} needs about {format_bytes(size)}, but each of the "
            f"{workers} worker(s) may use {format_bytes(limit)}. Use {advice}workers with {format_bytes(size)} each, "
            f"or {smaller}"
        )

    def disk_shortage(self, free: int, where: str) -> str:
        """Return why the arrays do not fit on the disk; empty if they do."""
        if self.disk_bytes <= free:
            return ""
        return (
            f"dataset {self.name!r}: its arrays need {format_bytes(self.disk_bytes)}, but {where} has "
            f"{format_bytes(free)} free. Choose another directory with --out, or "
            f"{disk_advice(self.disk_bytes, self.optional_bytes)}"
        )

    def temporary_shortage(self, free: int, where: str, workers: int, limit: int | None) -> str:
        """Return why the temporary files of all workers do not fit on a disk; empty if they do."""
        needed = self.temporary_bytes(workers, limit)
        if needed <= free:
            return ""
        return (
            f"dataset {self.name!r}: the fits that are solved in parts need temporary files of {format_bytes(needed)} "
            f"for {workers} worker(s), but {where} has {format_bytes(free)} free. Choose another directory with the "
            "environment variable TMPDIR, or use fewer workers (--workers), or more memory, so that the workers hold "
            "the kernels in their memory"
        )

    @property
    def name(self) -> str:
        """Return the name of the dataset."""
        return self.info.name

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the names of the base kernels."""
        return self.info.kernels

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of all stages."""
        return [task for tasks in self.stages.values() for task in tasks]

    @cached_property
    def graph(self) -> Graph:
        """Return the dependencies among the tasks."""
        return Graph(self.tasks)

    def known_tasks(self, finished: Mapping[str, TaskReport]) -> list[Task]:
        """Return the tasks of the plan, and those that finished open-ended tasks have requested."""
        return with_follow_ups(self.tasks, finished)

    def known_graph(self, finished: Mapping[str, TaskReport]) -> Graph:
        """Return the dependencies among the known tasks."""
        tasks = self.known_tasks(finished)
        return self.graph if len(tasks) == len(self.tasks) else Graph(tasks)

    def of(self, kind: type[T]) -> list[T]:
        """Return the tasks of one type."""
        return [task for task in self.tasks if isinstance(task, kind)]


def disk_advice(size: int, optional: int) -> str:
    """Return how to reduce the disk space of arrays, given their size and that of the optional ones among them."""
    fewer = "use fewer rows, kernels or methods"
    if not optional:
        return fewer
    return (
        f"{fewer}. With [storage] gram = 'recompute', or a smaller keep_up_to, Gram matrices are not stored; "
        f"then {format_bytes(size - optional)} are needed"
    )
