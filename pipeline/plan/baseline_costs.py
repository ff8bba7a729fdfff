"""Estimate the work of tasks that fit single kernels, and of reference methods."""

from kernel_pipeline.plan.costs import (
    SINGLE_SVM_FACTOR,
    VECTOR_FLOPS,
    TaskSizes,
    base_work,
    few_column_flops,
    path_flops,
    task_work,
)
from kernel_pipeline.plan.work import Work
from kernel_pipeline.stages.rank_one_kernels import RankOneBestSingleTask, RankOneEachKernelTask
from kernel_pipeline.stages.references import ReferenceTask
from kernel_pipeline.stages.single_kernels import BestSingleTask, EachKernelTask
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.tasks.learners.linear import has_few_features

# Operations of a fit of one column besides those on vectors: grouping equal values, and operations on small arrays.
SINGLE_COLUMN_FLOPS = 5e6


@task_work.register
def _(task: EachKernelTask, sizes: TaskSizes) -> Work:
    return base_work(task, sizes) + Work(len(task.kernels) * path_flops(task, sizes, task.values, SINGLE_SVM_FACTOR))


@task_work.register
def _(task: BestSingleTask, sizes: TaskSizes) -> Work:
    return base_work(task, sizes) + Work(path_flops(task, sizes, task.values, SINGLE_SVM_FACTOR))


@task_work.register
def _(task: ReferenceTask, sizes: TaskSizes) -> Work:
    if not task.method.reads_features:
        return Work(files=2)
    stored = 2.0 * FLOAT_BYTES * sizes.stored_values or FLOAT_BYTES * sizes.samples * sizes.columns
    if has_few_features(sizes.columns, sizes.train):
        return Work(few_column_flops(task, sizes, sizes.columns), 0.0, stored, 4)
    return Work(sizes.columns * sizes.samples**2 + path_flops(task, sizes, task.values), 0.0, stored, 4)


@task_work.register
def _(task: RankOneEachKernelTask, sizes: TaskSizes) -> Work:
    predictions = len(task.values) * len(task.target.columns) * (sizes.samples - sizes.train)
    per_kernel = SINGLE_COLUMN_FLOPS + VECTOR_FLOPS * (4 * sizes.train + 8 * predictions)
    return Work(per_kernel * task.count, 0.0, 2.0 * FLOAT_BYTES * sizes.stored_values, 6)


@task_work.register
def _(task: RankOneBestSingleTask, sizes: TaskSizes) -> Work:
    return Work(SINGLE_COLUMN_FLOPS, 0.0, 2.0 * FLOAT_BYTES * (sizes.stored_values + sizes.kernels), 8)
