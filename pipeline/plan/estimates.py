"""Estimate the time of each stage of a plan, and the remaining time of a run."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import kernel_pipeline.plan.baseline_costs  # registers cost models of tasks, as does the next import
import kernel_pipeline.plan.panel_costs  # noqa: F401
from kernel_pipeline.events import RunningBatch
from kernel_pipeline.plan.costs import TaskSizes, requested_work, task_work
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.plan.training_sizes import training_samples
from kernel_pipeline.plan.work import REFERENCE, Rates
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.reports import TaskReport

Key = TypeVar("Key")
NOTHING_FINISHED: Mapping[str, TaskReport] = MappingProxyType({})
MIN_LEFT = 0.1
"""Smallest estimated remaining time of a running task, as a fraction of the time for which it has been running."""


@dataclass(frozen=True)
class TaskTime:
    """The stage of a task, and its estimated time on one core in seconds."""

    stage: str
    seconds: float
    requested: float = 0.0
    """Estimated seconds of the tasks that the task is expected to request, if it is open-ended."""
    spreads: bool = False
    """Whether it may run alone, with the memory and the cores of all workers; estimates assume that it does."""


def task_sizes(dataset: DatasetPlan) -> TaskSizes:
    """Return the sizes of a dataset that the work of its tasks depends on."""
    return TaskSizes(
        samples=dataset.info.rows,
        columns=dataset.info.columns,
        kernels=len(dataset.kernels),
        train=training_samples(dataset.info, dataset.folds),
        folds=dataset.folds + dataset.fixed_test,
        labels=sum(dataset.info.label_columns(problem) for problem in dataset.problems),
        stored_values=dataset.info.entries if dataset.rank_one else 0,
        combined=max(1, len({task.method_key for task in dataset.of(CombineTask)})),
    )


def task_times(
    plan: Plan, rates: Rates = REFERENCE, finished: Mapping[str, TaskReport] = NOTHING_FINISHED
) -> dict[str, TaskTime]:
    """Return the estimated time of each task, by its name.

    Parameters
    ----------
    finished
        Reports of finished tasks; the tasks that they requested are included.
    """
    found = dict[str, TaskTime]()
    for dataset in plan.datasets:
        sizes = task_sizes(dataset)
        for task in dataset.known_tasks(finished):
            will_request = task.is_open_ended and task.name not in finished
            requested = rates.seconds(requested_work(task, sizes)) if will_request else 0.0
            seconds = rates.seconds(task_work(task, sizes))
            found[task.name] = TaskTime(task.stage, seconds, requested, task.may_spread)
    return found


def stage_seconds(times: Iterable[TaskTime], workers: int) -> dict[str, float]:
    """Return the estimated time of each stage with a number of workers, in the order of the stages.

    A stage takes at least as long as its longest task, unless this task is divided among the workers.

    >>> stage_seconds([TaskTime("fits", 4.0), TaskTime("fits", 1.0), TaskTime("tiles", 3.0), TaskTime("tiles", 3.0)], 2)
    {'tiles': 3.0, 'fits': 4.0}
    """
    totals, longest = dict[str, float](), dict[str, float]()
    for time in times:
        _add(totals, time.stage, time.seconds + time.requested)
        alone = time.seconds / workers if time.spreads else time.seconds
        longest[time.stage] = max(longest.get(time.stage, 0.0), alone)
    return {stage: max(totals[stage] / workers, longest[stage]) for stage in STAGES if stage in totals}


class RemainingTime:
    """Estimate the remaining time of a run from the measured times of its finished tasks.

    The measured time of the finished tasks of a stage, relative to their estimates, scales the estimates of its pending
    tasks. A stage without finished tasks is scaled by the ratio over all other stages. Tasks that are divided among the
    workers are scaled separately, since they are measured with all workers. The time for which a pending task has been
    running is subtracted from its own estimate.

    Parameters
    ----------
    estimates
        Estimated times of all tasks, by name; only their ratios matter.
    pending
        Names of the tasks to execute.

    Examples
    --------
    >>> estimates = {name: TaskTime("fits", 1.0) for name in "abcde"}
    >>> remaining = RemainingTime(estimates, "abcde")
    >>> remaining.seconds(workers=2) is None
    True
    >>> remaining.add_finished("a", 3.0)
    >>> remaining.seconds(workers=2)
    6.0
    """

    def __init__(self, estimates: Mapping[str, TaskTime], pending: Collection[str]) -> None:
        self._estimates = dict(estimates)
        self._pending = {name for name in pending if name in estimates}
        self._remaining = dict[_Group, float]()
        self._estimated, self._measured = dict[_Group, float](), dict[_Group, float]()
        self._running: Mapping[str, float] = {}
        for name in sorted(self._pending):
            self._add_pending(estimates[name], 1.0)

    @classmethod
    def of(cls, plan: Plan, finished: Mapping[str, TaskReport], pending: Collection[str]) -> "RemainingTime":
        """Return the remaining time of a plan, given the reports of finished tasks."""
        found = cls(task_times(plan, finished=finished), pending)
        for name, report in finished.items():
            found.add_finished(name, report.seconds, report.failed)
        return found

    def add_requested(self, times: Mapping[str, TaskTime]) -> None:
        """Add the tasks that a finished task has requested, with their estimated times."""
        for name in times.keys() - self._estimates.keys():
            self._estimates[name] = times[name]
            self._pending.add(name)
            self._add_pending(times[name], 1.0)

    def add_finished(self, name: str, seconds: float, failed: str = "") -> None:
        """Add a finished task. The time of a failed task is not used, and tasks that are not planned are ignored."""
        if (time := self._estimates.get(name)) is None:
            return
        if name in self._pending:
            self._pending.remove(name)
            self._add_pending(time, -1.0)
        if not failed:
            _add(self._estimated, _group(time), time.seconds)
            _add(self._measured, _group(time), seconds)

    def set_running(self, batches: Iterable[RunningBatch]) -> None:
        """Set the tasks that are running; the time of a batch is divided evenly among its tasks."""
        self._running = {name: batch.seconds / len(batch.tasks) for batch in batches for name in batch.tasks}

    def seconds(self, workers: int) -> float | None:
        """Return the estimated remaining time with a number of workers; None before the first task is finished."""
        if not self._pending:
            return 0.0
        if not self._estimated:
            return None
        parallel = max(1, min(workers, len(self._pending)))
        found = {group: max(0.0, left) * self._ratio(group, workers) for group, left in self._remaining.items()}
        for name, running in self._running.items():
            if name in self._pending:
                group = _group(self._estimates[name])
                estimated = self._estimates[name].seconds * self._ratio(group, workers)
                found[group] += max(-running, MIN_LEFT * running - estimated)
        return sum(max(0.0, left) / (1 if group.spreads else parallel) for group, left in found.items())

    def _ratio(self, group: "_Group", workers: int) -> float:
        """Return the ratio of measured to estimated times of a group of tasks."""
        if group in self._estimated:
            return self._measured[group] / self._estimated[group]
        measured = sum(
            seconds * (workers if other.spreads else 1) / (workers if group.spreads else 1)
            for other, seconds in self._measured.items()
        )
        return measured / sum(self._estimated.values())

    def _add_pending(self, time: TaskTime, sign: float) -> None:
        _add(self._remaining, _group(time), sign * (time.seconds + time.requested))


class _Group(NamedTuple):
    """Tasks whose times are scaled by the same ratio."""

    stage: str
    spreads: bool


def _group(time: TaskTime) -> _Group:
    return _Group(time.stage, time.spreads)


def _add(sums: dict[Key, float], key: Key, seconds: float) -> None:
    sums[key] = sums.get(key, 0.0) + seconds
