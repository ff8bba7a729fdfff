"""Estimate the time of each stage of a plan, and the remaining time of a run."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import kernel_pipeline.plan.baseline_costs  # noqa: F401  (registers the work of its tasks)
from kernel_pipeline.plan.costs import TaskSizes, task_work
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.plan.training_sizes import training_samples
from kernel_pipeline.plan.work import REFERENCE, Rates
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.reports import TaskReport


@dataclass(frozen=True)
class TaskTime:
    """The stage of a task, and its estimated time on one core in seconds."""

    stage: str
    seconds: float


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


def task_times(plan: Plan, rates: Rates = REFERENCE) -> dict[str, TaskTime]:
    """Return the estimated time of each task, by its name."""
    found = dict[str, TaskTime]()
    for dataset in plan.datasets:
        sizes = task_sizes(dataset)
        found |= {task.name: TaskTime(task.stage, rates.seconds(task_work(task, sizes))) for task in dataset.tasks}
    return found


def stage_seconds(times: Iterable[TaskTime], workers: int) -> dict[str, float]:
    """Return the estimated time of each stage with a number of workers, in the order of the stages.

    A stage takes at least as long as its longest task.

    >>> stage_seconds([TaskTime("fits", 4.0), TaskTime("fits", 1.0), TaskTime("tiles", 3.0), TaskTime("tiles", 3.0)], 2)
    {'tiles': 3.0, 'fits': 4.0}
    """
    totals, longest = dict[str, float](), dict[str, float]()
    for time in times:
        _add(totals, time.stage, time.seconds)
        longest[time.stage] = max(longest.get(time.stage, 0.0), time.seconds)
    return {stage: max(totals[stage] / workers, longest[stage]) for stage in STAGES if stage in totals}


class RemainingTime:
    """Estimate the remaining time of a run from the measured times of its finished tasks.

    The measured time of the finished tasks of a stage, relative to their estimates, scales the estimates of its pending
    tasks. A stage without finished tasks is scaled by the ratio over all other stages.

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
    >>> remaining.finish("a", 3.0)
    >>> remaining.seconds(workers=2)
    6.0
    """

    def __init__(self, estimates: Mapping[str, TaskTime], pending: Collection[str]) -> None:
        self._estimates = estimates
        self._pending = {name for name in pending if name in estimates}
        self._remaining, self._estimated, self._measured = dict[str, float](), dict[str, float](), dict[str, float]()
        for name in sorted(self._pending):
            _add(self._remaining, estimates[name].stage, estimates[name].seconds)

    @classmethod
    def of(cls, plan: Plan, finished: Mapping[str, TaskReport], pending: Collection[str]) -> "RemainingTime":
        """Return the remaining time of a plan, given the reports of finished tasks."""
        found = cls(task_times(plan), pending)
        for name, report in finished.items():
            found.finish(name, report.seconds, report.failed)
        return found

    def finish(self, name: str, seconds: float, failed: str = "") -> None:
        """Add a finished task. The time of a failed task is not used, and tasks that are not planned are ignored."""
        if (time := self._estimates.get(name)) is None:
            return
        if name in self._pending:
            self._pending.remove(name)
            _add(self._remaining, time.stage, -time.seconds)
        if not failed:
            _add(self._estimated, time.stage, time.seconds)
            _add(self._measured, time.stage, seconds)

    def seconds(self, workers: int) -> float | None:
        """Return the estimated remaining time with a number of workers; None before the first task is finished."""
        if not self._pending:
            return 0.0
        if not self._estimated:
            return None
        overall = sum(self._measured.values()) / sum(self._estimated.values())
        total = sum(
            max(0.0, remaining)
            * (self._measured[stage] / self._estimated[stage] if stage in self._estimated else overall)
            for stage, remaining in self._remaining.items()
        )
        return total / max(1, min(workers, len(self._pending)))


def _add(sums: dict[str, float], stage: str, seconds: float) -> None:
    sums[stage] = sums.get(stage, 0.0) + seconds
