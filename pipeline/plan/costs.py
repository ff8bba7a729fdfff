"""Estimate the work of each task type as a pure function of sizes; a new type registers a function with `task_work`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, singledispatch

from kernel_pipeline.plan.size_limits import tile_count
from kernel_pipeline.plan.work import Work
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.matrices import HELD_OUT_BYTES
from kernel_pipeline.stages.one_stage import OneStageTask
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.row_fits import RowFitTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tile_sources import Tile, tile_slices
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.tasks.learners.ridge_cost import ridge_path_cost
from kernel_pipeline.tasks.learners.svm_cost import libsvm_path_cost, working_set_cost, working_set_entries

# The cost models of learners are in nanoseconds, measured on a core with this number of operations per nanosecond.
FLOPS_PER_NS = 48.0
# Operations on vectors are limited by memory: one takes as long as this number of operations of a matrix product.
VECTOR_FLOPS = 20.0
# Operations per kernel and entry to sort the entries of a tile by the folds of a repeat, and to sum them.
REGROUP_FLOPS = 80.0
# Cost of an operation of the products with permuted labels, relative to one of a matrix product.
PERMUTED_SLOWDOWN = 1.5
# Operations per p^3 of the quadratic program of a trial, and the minimum for any solve.
SOLVE_FLOPS, MIN_SOLVE_FLOPS = 60.0, 5e7
# Operations per n^3 of the positive part of a kernel: an eigendecomposition and a product.
POSITIVE_PART_FLOPS = 30.0
# Time of libsvm on the paper's datasets, relative to its cost model, which was measured on a9a: with combined kernels,
# and with single kernels, many of which separate the classes poorly.
COMBINED_SVM_FACTOR, SINGLE_SVM_FACTOR = 3.0, 8.0
# Steps of a one-stage method per value of its path, each with one fit and one pass over all base kernels.
STEPS_PER_VALUE = {"regression": 10.0, "classification": 20.0}
# Steps per value of the path for rank-one families, measured on 4,000 columns of word counts.
RANK_ONE_STEPS_PER_VALUE = {"regression": 1.0, "classification": 75.0}
# Cost of an operation on sparse columns, relative to one on vectors.
SPARSE_FACTOR = 4.0
# Passes over the kernel of a cell of a rank-one family.
KERNEL_PASSES = 50.0
# Steps of the interior-point method that fits a support vector machine to few columns.
INTERIOR_POINT_STEPS = 25.0


@dataclass(frozen=True)
class TaskSizes:
    """The sizes of a dataset that the work of its tasks depends on."""

    samples: int
    columns: int
    kernels: int
    train: int
    """Size of the largest training set."""
    folds: int
    """Number of folds, including a fixed test set."""
    labels: int
    """Number of label columns of all problems."""
    stored_values: int = 0
    """Number of stored values of the columns of a rank-one family."""
    combined: int = 1
    """Number of method keys whose kernels are combined together."""

    @property
    def pairs(self) -> float:
        """Return the number of pairs of samples, each counted once."""
        return self.samples * (self.samples + 1) / 2


@singledispatch
def task_work(task: Task, sizes: TaskSizes) -> Work:
    """Return the work of a task. A task type without a cost model is assumed to need no work."""
    return Work()


@task_work.register
def _(task: TilesTask, sizes: TaskSizes) -> Work:
    pairs = computed_pairs(task.tiles, task.tile_size, sizes.samples)
    stored = (
        0.0 if task.recompute else FLOAT_BYTES * sizes.kernels * tile_area(task.tiles, task.tile_size, sizes.samples)
    )
    # Inner products of all pairs of kernels; sums of rows and products with labels, which are limited by the cache.
    per_pair = 2.0 * sizes.kernels**2 + VECTOR_FLOPS * sizes.kernels * (1 + sizes.labels) / 4
    repeats = len(task.sums_groups())
    permutations = task.permutations.count if task.permutations else 0
    if task.repeats > 1 or permutations:
        permuted = 2.0 * PERMUTED_SLOWDOWN * permutations * sizes.labels * sizes.kernels
        per_pair = repeats * (sizes.kernels**2 + REGROUP_FLOPS * sizes.kernels + permuted)
    sums = FLOAT_BYTES * sizes.kernels * sizes.samples * (sizes.folds + 1) * repeats
    computed = computing_work(task, sizes, pairs)
    files = (0 if task.recompute else len(task.tiles)) + 4 * repeats
    return computed + Work(per_pair * pairs, 0.0, stored + sums, files)


@task_work.register
def _(task: ReduceTask, sizes: TaskSizes) -> Work:
    sums = FLOAT_BYTES * sizes.kernels * sizes.samples * (sizes.folds + 1) * task.batches
    trials = 1 if task.fit_on else task.folds
    flops = 2.0 * sizes.kernels**2 * sizes.samples * trials * len(task.problems)
    return Work(flops, 0.0, sums, 4 * task.batches + 12 * trials * len(task.problems))


@task_work.register
def _(task: WeightsTask, sizes: TaskSizes) -> Work:
    flops = max(SOLVE_FLOPS * sizes.kernels**3, MIN_SOLVE_FLOPS) * len(task.trials)
    return Work(flops, 0.0, 2.0 * FLOAT_BYTES * sizes.kernels**2 * len(task.trials), 14 * len(task.trials))


@task_work.register
def _(task: CombineTask, sizes: TaskSizes) -> Work:
    area, trials = tile_area(task.tiles, task.tile_size, sizes.samples), len(task.trials)
    read = 1.0 / sizes.combined  # each tile is read once for all methods
    return Work(
        2.0 * VECTOR_FLOPS / 4 * sizes.kernels * trials * area,
        0.0,
        FLOAT_BYTES * area * (sizes.kernels * read + trials),
        len(task.tiles) * (read + trials),
    )


@task_work.register
def _(task: FitTask, sizes: TaskSizes) -> Work:
    positive_part = POSITIVE_PART_FLOPS * sizes.train**3 if task.method.any_sign else 0.0
    return kernel_work(task, sizes) + Work(positive_part + path_flops(task, sizes, task.values))


@task_work.register
def _(task: RowFitTask, sizes: TaskSizes) -> Work:
    n, values, classes = sizes.train, len(task.values), max(2, len(task.target.columns))
    # The moments of the kernel take two passes over its rows, and predictions one over those of held-out samples.
    pairs = working_set_entries(n, values, classes, task.memory.cache_bytes) + 2 * n**2 + n * (sizes.samples - n)
    combined = 2.0 * VECTOR_FLOPS / 4 * sizes.kernels * pairs
    solved = FLOPS_PER_NS * working_set_cost(n, values, classes)
    return computing_work(task, sizes, pairs) + Work(combined + solved)


@singledispatch
def requested_work(task: Task, sizes: TaskSizes) -> Work:
    """Return the expected work of the tasks that an open-ended task will request; zero if no model is registered."""
    return Work()


@task_work.register
def _(task: OneStageTask, sizes: TaskSizes) -> Work:
    pass_flops = VECTOR_FLOPS / 2 * sizes.kernels * sizes.train**2
    return base_work(task, sizes) + Work(
        len(task.values) * _one_stage_flops(task.problem, sizes, STEPS_PER_VALUE, pass_flops)
    )


@task_work.register
def _(task: RankOneStatisticsTask, sizes: TaskSizes) -> Work:
    trials = 1 if task.fit_on else task.folds
    flops = SPARSE_FACTOR * VECTOR_FLOPS * 2 * sizes.stored_values * trials * sizes.labels
    return Work(flops, 0.0, 2.0 * FLOAT_BYTES * sizes.stored_values, 4 + 12 * trials * len(task.targets))


@task_work.register
def _(task: RankOneFitTask, sizes: TaskSizes) -> Work:
    values = tuple(value for (value,) in task.values)
    if not task.few_columns:
        kernel = KERNEL_PASSES * VECTOR_FLOPS * sizes.samples**2
        return _column_work(sizes) + Work(kernel + path_flops(task, sizes, values))
    return _column_work(sizes) + Work(few_column_flops(task, sizes, sizes.kernels))


@task_work.register
def _(task: RankOneOneStageTask, sizes: TaskSizes) -> Work:
    pass_flops = VECTOR_FLOPS * 2 * sizes.stored_values
    return _column_work(sizes) + Work(
        len(task.values) * _one_stage_flops(task.problem, sizes, RANK_ONE_STEPS_PER_VALUE, pass_flops)
    )


def tile_area(tiles: Iterable[Tile], tile_size: int, samples: int) -> float:
    """Return the number of entries of some tiles of one kernel.

    >>> tile_area([(0, 0), (0, 1)], 4, 6)
    24.0
    """
    spans = (tile_slices(tile, tile_size, samples) for tile in tiles)
    return float(sum(_length(rows) * _length(columns) for rows, columns in spans))


def computed_pairs(tiles: Iterable[Tile], tile_size: int, samples: int) -> float:
    """Return the number of pairs of samples in some tiles; only one half of a tile on the diagonal is computed.

    >>> computed_pairs([(0, 0), (0, 1)], 4, 6)
    18.0
    """
    spans = [(tile, tile_slices(tile, tile_size, samples)) for tile in tiles]
    return float(sum(_pairs(_length(rows), _length(columns), i == j) for (i, j), (rows, columns) in spans))


def computing_work(task: GramTask, sizes: TaskSizes, pairs: float) -> Work:
    """Return the work of computing all base kernels for some pairs of samples."""
    return Work(2.0 * sizes.columns * len(task.families) * pairs, sizes.kernels * pairs)


def base_work(task: GramTask, sizes: TaskSizes) -> Work:
    """Return the work of reading or computing all base kernels."""
    if task.recompute:
        return computing_work(task, sizes, sizes.pairs)
    return Work(0.0, 0.0, FLOAT_BYTES * sizes.kernels * sizes.pairs, tile_count(sizes.samples, task.tile_size))


def kernel_work(task: FitTask, sizes: TaskSizes) -> Work:
    """Return the work of reading or computing the combined kernel of a cell."""
    held_out = sizes.train * (sizes.samples - sizes.train)
    again = held_out if task.repeats == 1 else sizes.samples**2  # in further repeats, folds are spread over all tiles
    pairs = sizes.pairs + (again if FLOAT_BYTES * held_out > HELD_OUT_BYTES else 0)
    if not task.recompute:
        return Work(0.0, 0.0, FLOAT_BYTES * pairs, tile_count(sizes.samples, task.tile_size))
    combined = 2.0 * VECTOR_FLOPS / 4 * sizes.kernels * max(1, len(task.trials)) * pairs
    return computing_work(task, sizes, pairs) + Work(combined)


def path_flops(
    task: CellTask, sizes: TaskSizes, values: Sequence[float], svm_factor: float = COMBINED_SVM_FACTOR
) -> float:
    """Return the operations of a regularisation path on a kernel of the training samples, with its predictions.

    Parameters
    ----------
    svm_factor
        Time of libsvm relative to its cost model.
    """
    outputs = len(task.target.columns)
    relative = svm_factor if task.problem == "classification" else 1.0
    cost = relative * _path_cost(task.problem, sizes.train, tuple(values), outputs)
    if isinstance(task, FinalFitTask) and task.refit:  # one value, with the samples of one more fold
        larger = sizes.train + sizes.samples // max(1, sizes.folds)
        cost += relative * _path_cost(task.problem, larger, tuple(values[:1]), outputs)
    return FLOPS_PER_NS * cost + 2.0 * len(values) * outputs * sizes.train * (sizes.samples - sizes.train)


@lru_cache(maxsize=1024)  # the cells of a problem of a dataset have the same path
def _path_cost(problem: str, train: int, values: tuple[float, ...], outputs: int) -> float:
    if problem == "regression":
        return ridge_path_cost(train, values, outputs)
    return libsvm_path_cost(train, len(values), max(2, outputs))


def _one_stage_flops(problem: str, sizes: TaskSizes, steps: Mapping[str, float], pass_flops: float) -> float:
    """Return the operations of a one-stage method for one value of its path.

    Parameters
    ----------
    steps
        Number of steps per value of the path, by problem.
    pass_flops
        Operations of one pass over all base kernels.
    """
    svm = COMBINED_SVM_FACTOR * FLOPS_PER_NS * libsvm_path_cost(sizes.train, 1, 2)
    fit = svm if problem == "classification" else 2.0 / 3.0 * sizes.train**3
    return steps[problem] * (fit + pass_flops)


def few_column_flops(task: CellTask, sizes: TaskSizes, columns: int) -> float:
    """Return the operations of a path on fewer columns than training samples, without a kernel."""
    values = getattr(task, "values", ())
    steps = INTERIOR_POINT_STEPS * len(values) if task.problem == "classification" else 1.0
    return steps * 2.0 * sizes.train * columns**2 + 10.0 * columns**3


def _column_work(sizes: TaskSizes) -> Work:
    """Return the work of reading the columns of a rank-one family, and of multiplying by them."""
    products = VECTOR_FLOPS * sizes.stored_values * min(sizes.kernels, sizes.train) / 10
    return Work(products, 0.0, 2.0 * FLOAT_BYTES * sizes.stored_values, 8)


def _length(span: slice) -> int:
    return int(span.stop - span.start)


def _pairs(rows: int, columns: int, on_diagonal: bool) -> float:
    """Return the number of pairs of samples in one tile."""
    return rows * (rows + 1) / 2 if on_diagonal else float(rows * columns)
