"""Plan a sweep: all its tasks, and the memory and disk space that they need, before anything runs."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.loading import config_digest
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.config.views import gram_families
from kernel_pipeline.errors import ConfigError, TooLargeError
from kernel_pipeline.plan.arrays import ArrayOwners, planned_arrays
from kernel_pipeline.plan.dataset_plan import DatasetPlan, disk_advice
from kernel_pipeline.plan.gram import gram_stages
from kernel_pipeline.plan.gram_storage import describe_storage
from kernel_pipeline.plan.large_fits import choose_methods
from kernel_pipeline.plan.methods import check_metric, single_kernel_problems
from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.rank_one import rank_one_stages
from kernel_pipeline.plan.size_limits import check_plan_size
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.panel_fits import PanelFitTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.text import counted, format_bytes


@dataclass(frozen=True)
class Plan:
    """The plan of a whole sweep."""

    config: Config
    datasets: tuple[DatasetPlan, ...]

    def __repr__(self) -> str:
        names = ", ".join(dataset.name for dataset in self.datasets)
        return f"<{type(self).__name__} of {self.config.name!r}: {counted(len(self.tasks), 'task')} on {names}>"

    @property
    def identity(self) -> str:
        """Return a digest of the config and the data."""
        content = (config_digest(self.config), [dataset.info.fingerprint for dataset in self.datasets])
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of all datasets."""
        return [task for dataset in self.datasets for task in dataset.tasks]

    def known_tasks(self, finished: Mapping[str, TaskReport]) -> list[Task]:
        """Return all tasks, and those that finished open-ended tasks have requested."""
        return [task for dataset in self.datasets for task in dataset.known_tasks(finished)]

    @property
    def disk_bytes(self) -> int:
        """Return the stored size of all arrays of the run."""
        return sum(dataset.disk_bytes for dataset in self.datasets)

    @property
    def largest(self) -> tuple[int, str, DatasetPlan]:
        """Return the largest projected memory of a task, its stage and its dataset."""
        return max(
            ((size, stage, dataset) for dataset in self.datasets for stage, size in dataset.memory.items()),
            key=lambda item: item[0],
        )

    def notes(self) -> list[Note]:
        """Return what a user should know before the run: what is left out, and remarks about data and families."""
        notes = []
        imputed = {dataset.name for dataset in self.config.dataset if dataset.imputing}
        weights = self.config.class_weight_notes
        for dataset in self.datasets:
            if dataset.info.left_out:
                count = dataset.info.left_out
                what, they = ("1 row is", "it has") if count == 1 else (f"{count} rows are", "they have")
                why = f"{they} no label" if dataset.name in imputed else "missing = 'drop'"
                notes.append(Note(dataset.name, f"{what} left out, since {why}"))
            notes += [Note(dataset.name, text) for text in (*dataset.info.notes, *_fitting_notes(dataset), *weights)]
            notes += [
                Note(dataset.name, f"left out, since {left_out.reason}", left_out.problem, left_out.method)
                for left_out in dataset.unsupported
            ]
        return notes

    def storage_lines(self) -> list[str]:
        """Return lines that state for which datasets Gram matrices are stored, and why."""
        return describe_storage({dataset.name: dataset.gram for dataset in self.datasets if dataset.gram})

    def check_memory(self, limit: int, workers: int) -> None:
        """Raise a `TooLargeError` if a task does not fit in the memory of a worker."""
        shortages = [text for dataset in self.datasets if (text := dataset.memory_shortage(limit, workers))]
        if shortages:
            raise TooLargeError("\n".join(shortages) + self._advice(len(shortages)))

    def check_disk(self, free: int, where: str) -> None:
        """Raise a `TooLargeError` if the arrays do not fit on the disk."""
        if shortage := self.disk_shortage(free, where):
            raise TooLargeError(shortage)

    def temporary_bytes(self, workers: int, limit: int | None) -> int:
        """Return the size of the temporary files of all workers, given the bytes that each may use, if known."""
        return max(dataset.temporary_bytes(workers, limit) for dataset in self.datasets)

    def check_temporary_files(self, free: int, where: str, workers: int, limit: int | None) -> None:
        """Raise a `TooLargeError` if the temporary files of all workers do not fit on a disk."""
        shortages = [
            text for dataset in self.datasets if (text := dataset.temporary_shortage(free, where, workers, limit))
        ]
        if shortages:
            raise TooLargeError("\n".join(shortages) + self._advice(len(shortages)))

    def _advice(self, too_large: int) -> str:
        """Return how to run the other datasets, given the number of those that are too large."""
        if too_large == len(self.datasets):
            return ""
        return "\n`pipeline run` with --skip-too-large leaves out such datasets and runs the others"

    def disk_shortage(self, free: int, where: str) -> str:
        """Return why the arrays of all datasets do not fit on the disk; empty if they do."""
        if self.disk_bytes <= free:
            return ""
        kept = sum(dataset.optional_bytes for dataset in self.datasets)
        return (
            f"the arrays of this sweep need {format_bytes(self.disk_bytes)}, but {where} has {format_bytes(free)} "
            f"free. Choose another directory with --out, or {disk_advice(self.disk_bytes, kept)}"
        )


def _fitting_notes(dataset: DatasetPlan) -> list[str]:
    """Return a note about the cost of steps that are fitted to the training set of each trial."""
    info, trials = dataset.info, len(dataset.info.fitted_trials(dataset.trials))
    if not info.per_trial:
        return []
    cost = f"{trials} copies of the columns" if dataset.rank_one else f"{trials} passes over the Gram matrices"
    return [f"fit_on = 'train' ({', '.join(info.fitted_steps)}): {cost} instead of 1"]


def make_plan(config: Config, infos: Sequence[DatasetInfo]) -> Plan:
    """Plan all tasks. The division of work into tasks does not depend on the cluster or the number of workers."""
    check_plan_size(config, infos)
    check_metric(config, infos)
    datasets = tuple(_plan_dataset(config, dataset, info) for dataset, info in zip(config.dataset, infos, strict=True))
    unsupported = [left_out for dataset in datasets for left_out in dataset.unsupported]
    listed = {method.method_id for method in config.methods}
    has_fits = any(
        task.method_key and task.method_key[1] in listed for dataset in datasets for task in dataset.stages["fits"]
    )
    for method in config.methods:
        reasons = [left_out for left_out in unsupported if left_out.method == method.method_id]
        # A method that does not support the number of classes or outputs gets a note, unless no other method is left.
        if has_fits and any(left_out.is_for_fewer_labels for left_out in reasons):
            continue
        if len(reasons) == sum(len(dataset.problems) for dataset in datasets):
            stated = "; ".join(dict.fromkeys(left_out.reason for left_out in reasons))
            raise ConfigError(f"methods: {method.method_id!r} supports none of the datasets: {stated}. Remove it")
    return Plan(config, datasets)


def _plan_dataset(config: Config, dataset: Dataset, info: DatasetInfo) -> DatasetPlan:
    rank_one = dataset.column_family is not None
    methods, unsupported = choose_methods(config, dataset, info)
    families = gram_families(dataset, info.features, info.precomputed)
    planned = (
        rank_one_stages(config, dataset, info, methods)
        if rank_one
        else gram_stages(config, dataset, info, families, methods)
    )
    predicted = tuple(planned_method.key for planned_method in methods if planned_method.method.has_rows)
    weighted = tuple(planned_method.key for planned_method in methods if planned_method.method.gives_weights)
    fits = planned.stages["fits"]
    combined = tuple(
        dict.fromkeys(task.method_key for task in planned.stages["combine"] if isinstance(task, CombineTask))
    )
    return DatasetPlan(
        info=info,
        problems=tuple(dataset.task),
        rank_one=rank_one,
        families=families,
        folds=config.protocol.folds,
        fixed_test=dataset.fixed_test,
        tile_size=min(config.storage.tile, info.rows),
        method_keys=predicted,
        unsupported=tuple(unsupported),
        stages=planned.stages,
        memory=planned.memory,
        arrays=planned_arrays(
            info,
            families,
            planned.sizes,
            ArrayOwners(
                problems=dataset.task,
                predicted=predicted,
                weighted=weighted,
                combined=combined,
                single=single_kernel_problems(methods),
                in_parts=tuple(dict.fromkeys(task.method_key for task in fits if isinstance(task, PanelFitTask))),
            ),
            recompute=planned.gram is not None and planned.gram.recompute,
        ),
        gram=planned.gram,
        repeats=config.protocol.repeats,
    )
