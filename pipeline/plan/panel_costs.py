"""Estimate the work of ridge paths whose kernel is held in panels."""

import numpy as np

from kernel_pipeline.plan.costs import (
    FLOPS_PER_NS,
    VECTOR_FLOPS,
    TaskSizes,
    base_work,
    computing_work,
    requested_work,
    task_work,
)
from kernel_pipeline.plan.work import Work
from kernel_pipeline.stages.panel_fits import LargeRidgesTask, PanelFitTask, PanelTask, RidgeGroupTask
from kernel_pipeline.tasks.learners.ridge_cost import factorised_cost, ridge_group_costs

# Time of a task with panels in the memory of four workers on two cores, relative to the same operations on one array:
# its steps wait for results of other workers. Measured with 12,000 training samples.
PANELS_FACTOR = 1.8


@task_work.register
def _(task: LargeRidgesTask, sizes: TaskSizes) -> Work:
    cost = ridge_group_costs(sizes.train, task.values, len(task.target.columns))[0]
    return (panels_work(task, sizes, 0.0) + Work(FLOPS_PER_NS * cost)) * PANELS_FACTOR


@requested_work.register
def _(task: LargeRidgesTask, sizes: TaskSizes) -> Work:
    groups = ridge_group_costs(sizes.train, task.values, len(task.target.columns))[1:]
    works = [panels_work(task, sizes, 0.0) + Work(FLOPS_PER_NS * cost) for cost in groups]
    return sum(works, Work()) * PANELS_FACTOR


@task_work.register
def _(task: RidgeGroupTask, sizes: TaskSizes) -> Work:
    cost = factorised_cost(sizes.train, np.array(task.values[task.first : task.last]), len(task.target.columns))
    return (panels_work(task, sizes, 0.0) + Work(FLOPS_PER_NS * cost)) * PANELS_FACTOR


@task_work.register
def _(task: PanelFitTask, sizes: TaskSizes) -> Work:
    held_out = sizes.train * (sizes.samples - sizes.train)
    products = 2.0 * len(task.values) * len(task.target.columns) * sizes.train**2
    return (panels_work(task, sizes, held_out) + Work(products)) * PANELS_FACTOR


def panels_work(task: PanelTask, sizes: TaskSizes, held_out: float) -> Work:
    """Return the work of computing the combined kernel of a cell in panels, including `held_out` pairs of samples."""
    pairs = sizes.train * (sizes.train + 1) / 2 + held_out
    combined = Work(2.0 * VECTOR_FLOPS / 4 * sizes.kernels * pairs)
    return combined + (computing_work(task, sizes, pairs) if task.recompute else base_work(task, sizes))
