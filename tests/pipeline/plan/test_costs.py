"""The estimated work of tasks equals counts by hand for some sizes, and grows with the sizes."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.plan.costs import (
    COMBINED_SVM_FACTOR,
    FLOPS_PER_NS,
    TaskSizes,
    computed_pairs,
    path_flops,
    task_work,
    tile_area,
)
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.estimates import task_sizes
from kernel_pipeline.plan.work import REFERENCE, Rates, Work
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.single_kernels import EachKernelTask
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tile_sources import tile_slices, tiles_on_and_above_diagonal
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.learners.ridge_cost import TRIDIAGONALISATION
from kernel_pipeline.tasks.learners.svm_cost import LIBSVM
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import EVERY_METHOD, RANK_ONE, plan_of

OTHER_PROBLEM = {"regression": ["l1-svm", "majority"], "classification": ["l2-krr", "align-krr", "mean"]}
"""Methods that do not support a problem."""


def dataset_of(problem: str = "regression", gram: str = "keep", **dataset: Any) -> DatasetPlan:
    """Return the plan of 10 samples with 5 columns, 2 kernels and 3 folds, in tiles of 4 x 4."""
    unsupported = [*OTHER_PROBLEM[problem], *(["alignf-linear"] if "kernels" in dataset else [])]
    methods = [method for method in EVERY_METHOD if method not in unsupported]
    values = synthetic_values(task=problem, **dataset) | {"methods": methods, "storage": {"tile": 4, "gram": gram}}
    (planned,) = plan_of(parsed(values)).datasets
    return planned


@pytest.mark.parametrize(("samples", "side"), [(10, 4), (9, 3), (5, 8)])
def test_tiles_cover_each_pair_of_samples_once(samples: int, side: int) -> None:
    tiles = tiles_on_and_above_diagonal(samples, side)
    covered = np.zeros((samples, samples))
    for tile in tiles:
        covered[tile_slices(tile, side, samples)] += 1
    assert tile_area(tiles, side, samples) == covered.sum()
    assert computed_pairs(tiles, side, samples) == np.triu(covered).sum() == samples * (samples + 1) / 2


def test_kernels_are_computed_once_per_pair_and_stored_by_tile() -> None:
    kept, recomputed = dataset_of(), dataset_of(gram="recompute")
    works = []
    for dataset in (kept, recomputed):
        (task,) = dataset.of(TilesTask)
        works.append(task_work(task, task_sizes(dataset)))
    assert [work.entries for work in works] == [2 * 55, 2 * 55]  # 2 kernels, 10 * 11 / 2 pairs
    # Tiles of 4, 4 and 2 samples: 16 + 16 + 8 + 16 + 8 + 4 entries of 8 bytes for each kernel.
    assert works[0].stored_bytes - works[1].stored_bytes == 8 * 2 * 68
    assert works[0].files - works[1].files == 6


def test_combining_reads_each_tile_once_for_all_methods() -> None:
    dataset = dataset_of()
    sizes, tasks = task_sizes(dataset), dataset.of(CombineTask)
    assert sizes.combined == len({task.method_key for task in tasks}) == len(tasks) > 1
    total = sum(task_work(task, sizes).stored_bytes for task in tasks)
    assert total == pytest.approx(8 * 68 * (2 + 3 * len(tasks)))  # 2 kernels are read, 3 trials are written


def test_costs_of_paths_equal_those_of_their_learners() -> None:
    sizes = TaskSizes(samples=1000, columns=5, kernels=2, train=600, folds=3, labels=1)
    ridge, machine = (dataset_of(problem).of(FitTask)[0] for problem in OTHER_PROBLEM)
    values = len(ridge.values)
    assert path_flops(ridge, sizes, ridge.values) == pytest.approx(
        FLOPS_PER_NS * TRIDIAGONALISATION * 600**3 + 2 * values * 600 * 400
    )
    values = len(machine.values)
    assert path_flops(machine, sizes, machine.values) == pytest.approx(
        FLOPS_PER_NS * COMBINED_SVM_FACTOR * LIBSVM * values * 600**2 + 2 * values * 600 * 400
    )


def test_a_fit_computes_the_kernel_that_is_not_stored() -> None:
    kept, recomputed = dataset_of(), dataset_of(gram="recompute")
    read, computed = (task_work(d.of(FitTask)[0], task_sizes(d)) for d in (kept, recomputed))
    assert (read.entries, computed.entries) == (0, 2 * 55)
    assert (read.stored_bytes, computed.stored_bytes) == (8 * 55, 0)
    each = task_work(recomputed.of(EachKernelTask)[0], task_sizes(recomputed))
    assert each.entries == 2 * 55


@pytest.mark.parametrize("problem", ["regression", "classification"])
@pytest.mark.parametrize("options", [{}, {"gram": "recompute"}, {"kernels": RANK_ONE}])
def test_work_grows_with_every_size(problem: str, options: dict[str, Any]) -> None:
    dataset = dataset_of(problem, **options)
    sizes = task_sizes(dataset)
    kinds = {type(task): task for task in dataset.tasks}
    assert len(kinds) >= 3
    for task in kinds.values():
        seconds = REFERENCE.seconds(task_work(task, sizes))
        assert seconds > REFERENCE.seconds(Work()), task
        for field in fields(TaskSizes):
            if field.name != "combined":
                larger = replace(sizes, **{field.name: 3 * getattr(sizes, field.name)})
                if field.name == "train":
                    larger = replace(larger, samples=3 * sizes.samples)
                assert REFERENCE.seconds(task_work(task, larger)) >= seconds, (task, field.name)


def test_a_kind_of_task_without_a_cost_model_takes_no_work() -> None:
    class OtherTask(Task):
        part = "0"

        def inputs(self) -> tuple[Input, ...]:
            return ()

        writes = inputs

        def run(self, store: RunStore) -> Output:
            return Output()

    assert task_work(OtherTask(dataset="d", fingerprint="f"), TaskSizes(1, 1, 1, 1, 1, 1)) == Work()


def test_work_is_added_multiplied_and_divided_by_the_rates() -> None:
    work = Work(1.0, 2.0, 3.0, 4.0) + Work(10.0, 20.0, 30.0, 40.0)
    assert work == Work(11.0, 22.0, 33.0, 44.0)
    assert work * 2.0 == Work(22.0, 44.0, 66.0, 88.0)
    fast, slow = Rates(4e9, 4e9, 4e9), Rates(1e9, 4e9, 4e9)
    assert slow.seconds(Work(flops=4e9)) - fast.seconds(Work(flops=4e9)) == pytest.approx(3.0)
