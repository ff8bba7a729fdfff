"""The plan: every task of a sweep and what it costs, as a value, before anything runs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.loading import config_digest
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError, TooLargeError
from kernel_pipeline.plan.arrays import planned_arrays
from kernel_pipeline.plan.follow_ups import with_follow_ups
from kernel_pipeline.plan.gram import gram_stages
from kernel_pipeline.plan.graph import Graph
from kernel_pipeline.plan.methods import UnsupportedMethod, plan_methods
from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.rank_one import rank_one_stages
from kernel_pipeline.plan.size_limits import check_plan_size
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.samples import make_targets
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.text import format_bytes

T = TypeVar("T", bound=Task)


@dataclass(frozen=True)
class DatasetPlan:
    """The tasks of one dataset, stage after stage, and their cost."""

    info: DatasetInfo
    tasks_learned: tuple[str, ...]
    rank_one: bool
    families: tuple[GramFamily, ...]
    """The families of Gram matrices; none for a rank-one family."""
    folds: int
    tile: int
    cells: tuple[tuple[str, str], ...]
    """Problem and method of all cells that have weights, each for all trials."""
    unsupported: tuple[UnsupportedMethod, ...]
    """Methods that are left out."""
    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""
    arrays: tuple[ArrayPlan, ...]
    """All arrays, in the order in which they are created."""

    @property
    def disk_bytes(self) -> int:
        """The size of all chunks of the arrays, as stored."""
        return sum(array.stored_bytes for array in self.arrays)

    @property
    def name(self) -> str:
        """Of the dataset."""
        return self.info.name

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the base kernels."""
        return self.info.kernels

    @property
    def tasks(self) -> list[Task]:
        """The tasks of all stages."""
        return [task for tasks in self.stages.values() for task in tasks]

    @cached_property
    def graph(self) -> Graph:
        """The dependencies among the tasks."""
        return Graph(self.tasks)

    def known_tasks(self, finished: Mapping[str, Finished]) -> list[Task]:
        """Return the tasks of the plan, and those that finished open-ended tasks have asked for."""
        return with_follow_ups(self.tasks, finished)

    def known_graph(self, finished: Mapping[str, Finished]) -> Graph:
        """Return the dependencies among the known tasks."""
        tasks = self.known_tasks(finished)
        return self.graph if len(tasks) == len(self.tasks) else Graph(tasks)

    def of(self, kind: type[T]) -> list[T]:
        """The tasks of one kind."""
        return [task for task in self.tasks if isinstance(task, kind)]


@dataclass(frozen=True)
class Plan:
    """A whole sweep."""

    config: Config
    datasets: tuple[DatasetPlan, ...]

    @property
    def identity(self) -> str:
        """A digest of the config and the data."""
        content = (config_digest(self.config), [dataset.info.fingerprint for dataset in self.datasets])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @property
    def tasks(self) -> list[Task]:
        """All tasks."""
        return [task for dataset in self.datasets for task in dataset.tasks]

    def known_tasks(self, finished: Mapping[str, Finished]) -> list[Task]:
        """Return all tasks, and those that finished open-ended tasks have asked for."""
        return [task for dataset in self.datasets for task in dataset.known_tasks(finished)]

    @property
    def disk_bytes(self) -> int:
        """What the arrays of the run take on disk."""
        return sum(dataset.disk_bytes for dataset in self.datasets)

    @property
    def largest(self) -> tuple[int, str, DatasetPlan]:
        """The greatest projected memory of a task, its stage and its dataset."""
        return max(
            ((size, stage, dataset) for dataset in self.datasets for stage, size in dataset.memory.items()),
            key=lambda item: item[0],
        )

    def notes(self) -> list[Note]:
        """Return what a user should know before the run: what is left out, and remarks of kernel families."""
        notes = []
        for dataset in self.datasets:
            if dataset.info.left_out:
                notes.append(Note(dataset.name, f"{dataset.info.left_out} rows are left out, for missing = 'drop'"))
            notes += [Note(dataset.name, text) for text in dataset.info.notes]
            notes += [
                Note(dataset.name, f"left out, since {left_out.reason}", left_out.problem, left_out.method)
                for left_out in dataset.unsupported
            ]
        return notes

    def check_memory(self, limit: int, workers: int) -> None:
        """Refuse a sweep whose largest task does not fit a worker."""
        size, stage, dataset = self.largest
        if size <= limit:
            return
        smaller = (
            "a smaller [storage] tile" if stage in ("tiles", "combine") else f"fewer rows ({dataset.info.rows} now)"
        )
        raise TooLargeError(
            f"dataset {dataset.name!r}: a task of stage {stage!r} needs about {format_bytes(size)}, but each of the "
            f"{workers} worker(s) may use {format_bytes(limit)}. Ask for fewer workers (--workers 1), or for {smaller}"
        )

    def check_disk(self, free: int, where: str) -> None:
        """Refuse a sweep whose arrays do not fit the disk."""
        if self.disk_bytes > free:
            raise TooLargeError(
                f"the arrays of this sweep need {format_bytes(self.disk_bytes)}, but {where} has {format_bytes(free)} "
                "free. Choose another place with --out, or fewer rows, kernels or methods"
            )


def make_plan(config: Config, infos: Sequence[DatasetInfo]) -> Plan:
    """Lay out all tasks. The batches depend on sizes only, never on where or by how many workers they run."""
    check_plan_size(config, infos)
    datasets = tuple(_plan_dataset(config, dataset, info) for dataset, info in zip(config.dataset, infos, strict=True))
    unsupported = [left_out for dataset in datasets for left_out in dataset.unsupported]
    for method in config.methods:
        reasons = [left_out.reason for left_out in unsupported if left_out.method == method.method_id]
        if len(reasons) == sum(len(dataset.tasks_learned) for dataset in datasets):
            raise ConfigError(
                f"methods: {method.method_id!r} fits no dataset of this sweep: {'; '.join(dict.fromkeys(reasons))}. "
                "Leave it out"
            )
    return Plan(config, datasets)


def _plan_dataset(config: Config, dataset: Dataset, info: DatasetInfo) -> DatasetPlan:
    rank_one = dataset.column_family is not None
    methods, unsupported = plan_methods(make_targets(dataset.task), config.methods, len(info.kernels), rank_one)
    plan_stages = rank_one_stages if rank_one else gram_stages
    planned = plan_stages(config, dataset, info, methods)
    cells = tuple(planned_method.cell for planned_method in methods if planned_method.method.gives_weights)
    combined = tuple(dict.fromkeys(task.cell for task in planned.stages["combine"] if isinstance(task, CombineTask)))
    return DatasetPlan(
        info=info,
        tasks_learned=tuple(dataset.task),
        rank_one=rank_one,
        families=dataset.gram_families,
        folds=config.protocol.folds,
        tile=min(config.storage.tile, info.rows),
        cells=cells,
        unsupported=tuple(unsupported),
        stages=planned.stages,
        memory=planned.memory,
        arrays=planned_arrays(info, dataset.gram_families, planned.sizes, dataset.task, cells, combined),
    )
