"""Stages, cells, tasks and disk space of a plan."""

import pytest

from kernel_pipeline.plan.memory_parts import RESERVED
from kernel_pipeline.stages import tiles as tiles_stage
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.one_stage import OneStageTask
from kernel_pipeline.stages.rank_one import RankOneFitTask
from kernel_pipeline.stages.single_kernels import EachKernelTask
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.weights.align import Align
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.example_tasks import TASKS
from tests.pipeline.plan.small_plans import EVERY_METHOD, METHOD_KEYS, RANK_ONE, gram_bytes, plan_of, small, tiles_of


def test_plan_of_a_small_sweep() -> None:
    plan = small()
    (dataset,) = plan.datasets
    assert (dataset.info.rows, dataset.info.columns, dataset.folds) == (10, 5, 3)
    assert (dataset.tile_size, tiles_of(dataset)) == (4, 6)
    assert list(dataset.method_keys) == METHOD_KEYS
    assert dataset.unsupported == ()
    assert dataset.kernels == ("gaussian(2^-1)", "gaussian(2^0)")
    assert list(dataset.stages) == list(STAGES)
    assert {stage: len(tasks) for stage, tasks in dataset.stages.items()} == {
        "tiles": 1,
        "reduce": 1,
        "weights": 2,
        "combine": 2,
        "fits": 6,
    }
    assert len(dataset.tasks) == len(plan.tasks) == 12
    assert plan.disk_bytes == dataset.disk_bytes == gram_bytes(dataset, combined=2, weighted=2)


def test_a_tile_is_never_larger_than_the_samples() -> None:
    plan = plan_of(parsed(synthetic_values() | {"storage": {"tile": 512}}))
    assert (plan.datasets[0].tile_size, tiles_of(plan.datasets[0])) == (10, 1)


def test_one_more_method_does_not_change_the_tasks_of_the_others() -> None:
    values = synthetic_values()
    few, more = (
        {task.name: task.identity for task in plan_of(parsed(values | {"methods": methods})).tasks}
        for methods in (EVERY_METHOD[:2], EVERY_METHOD[:6])
    )
    assert len(few) < len(more)
    assert few.items() <= more.items()


def test_a_dataset_with_two_tasks_shares_its_tiles() -> None:
    values = synthetic_values()
    values["dataset"][0] = {
        "name": "flowers",
        "source": "sklearn",
        "id": "iris",
        "positive": ["setosa"],
        "task": ["regression", "classification"],
        "rows": 30,
        "kernels": values["dataset"][0]["kernels"],
    }
    (dataset,) = plan_of(parsed(values)).datasets
    counts = {stage: len(tasks) for stage, tasks in dataset.stages.items()}
    assert counts == {"tiles": 1, "reduce": 1, "weights": 4, "combine": 4, "fits": 12}
    assert dataset.disk_bytes == gram_bytes(dataset, combined=2 * 2, weighted=2 * 2)
    paths = {task.problem: task.values for task in dataset.of(FitTask)}
    assert all(isinstance(value, float) for path in paths.values() for value in path)
    assert paths["regression"][0] > paths["regression"][-1]
    assert paths["classification"][0] < paths["classification"][-1]


def test_one_stage_cells_and_single_kernels_need_neither_weights_nor_combined_kernels() -> None:
    values = synthetic_values() | {"methods": ["alignf", "l2-krr", "each-kernel"]}
    (dataset,) = plan_of(parsed(values)).datasets
    counts = {stage: len(tasks) for stage, tasks in dataset.stages.items()}
    assert counts == {"tiles": 1, "reduce": 1, "weights": 1, "combine": 1, "fits": 3 * 3}
    assert [task.method_key for task in dataset.of(CombineTask)] == [("regression", "alignf")]
    assert [task.values for task in dataset.of(OneStageTask)] == [tuple((2.0**e,) for e in range(0, 31, 2))] * 3
    assert [task.kernels for task in dataset.of(EachKernelTask)] == [range(2)] * 3
    # Of the combined kernels, only those of alignf are stored; l2-krr has weights as well. The validation and the test
    # errors of the two kernels are one chunk per trial each.
    assert dataset.disk_bytes == gram_bytes(dataset, combined=1, weighted=2) + 2 * 3 * (2 * 8 + 4)
    one_stage, single = (
        plan_of(parsed(values | {"methods": [name]})).datasets[0] for name in ("l2-krr", "each-kernel")
    )
    for alone in (one_stage, single):
        assert (alone.stages["weights"], alone.stages["combine"]) == ((), ())
    # All base kernels are held in memory, as they are stored and centered. Two copies of a tile, of M and M_test, also
    # debiased, of vectors and norms; three of the weights and labels.
    others = 2 * (2 * 4 * 4 + 4 * 2 * 2 + 5 * 2 + 4) + 3 * (2 + 10)
    fit = 10**2 + 2 * 10 * 4 + 3 * 4**2 + 4 * 16 * 10
    assert one_stage.memory["fits"] == RESERVED + 8 * (2 * 10 * (10 + 4) + others + fit)
    # Single kernels are fitted like combined ones; one half of the matrices of a batch, and two copies of a tile.
    (two_stage,) = plan_of(parsed(values | {"methods": ["unif"]})).datasets
    assert single.memory["fits"] == two_stage.memory["fits"] + 8 * (2 * 10**2 // 2 + 2 * 2 * 4 * 4)


def test_the_q_of_align_is_part_of_its_tasks_and_its_name() -> None:
    values = synthetic_values() | {"methods": ["align", {"method": "align", "q": 1.5}]}
    (gram,) = plan_of(parsed(values)).datasets
    expected = [("align", Align()), ("align-q1.5", Align(1.5))]
    assert [(task.method_id, task.method) for task in gram.of(WeightsTask)] == expected
    assert [task.method for task in gram.of(CombineTask)] == [Align(), Align(1.5)]
    values["dataset"][0]["kernels"] = RANK_ONE
    (rank_one,) = plan_of(parsed(values)).datasets
    assert {(task.method_id, task.method) for task in rank_one.of(RankOneFitTask)} == set(expected)


def test_a_rank_one_dataset_has_two_stages_and_stores_no_gram_matrix() -> None:
    values = synthetic_values(kernels=RANK_ONE) | {"methods": [*EVERY_METHOD[:6], "l2-krr", "align-krr"]}
    (dataset,) = plan_of(parsed(values)).datasets
    assert dataset.rank_one
    assert dataset.kernels == ("0", "1", "2", "3", "4")
    counts = {stage: len(tasks) for stage, tasks in dataset.stages.items()}
    assert counts == {"tiles": 0, "reduce": 1, "weights": 0, "combine": 0, "fits": 8 * 3}
    assert [label for _, label in dataset.method_keys] == [
        *("unif", "align", "align-q1.5", "alignf", "alignf-linear", "best-kernel", "l2-krr", "align-krr"),
    ]
    assert set(dataset.memory) == {"reduce", "fits"}
    # Columns with the index of each number, by row; labels, order and folds; in each trial 10 statistics of kernels, 2
    # norms, and the weights, certificates and predictions of 8 methods. No array is p x p. Each chunk has a checksum.
    floats = 2 * 10 * 5 + 11 + 5 + 3 * 10 + 3 * (10 * 5 + 2 + 8 * (5 + 1 + 10))
    assert dataset.disk_bytes == 8 * floats + 4 * (7 + 3 * (11 + 8 * 3))


def test_kernels_are_in_the_order_of_their_families() -> None:
    plan = small(kernels=[{"family": "gaussian", "log2_gamma": [5, 5]}, {"family": "gaussian", "log2_gamma": [-1, 0]}])
    assert plan.datasets[0].kernels == ("gaussian(2^5)", "gaussian(2^-1)", "gaussian(2^0)")
    assert [task.families for task in plan.datasets[0].of(TilesTask)] == [
        (GaussianFamily((5, 5)), GaussianFamily((-1, 0)))
    ]


def test_the_same_config_gives_the_same_plan() -> None:
    assert small() == small()


def test_names_of_tasks_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_stage, "ENTRIES_PER_TASK", 64)
    values = synthetic_values()
    values["methods"] = EVERY_METHOD
    values["dataset"].append({**values["dataset"][0], "name": "made-1", "task": "classification"})
    values["dataset"].append({**values["dataset"][0], "name": "made-2", "kernels": RANK_ONE})
    for number, task in enumerate(["regression", "classification"], start=3):
        values["dataset"].append({**values["dataset"][0], "name": f"made-{number}", "task": task, "rows": 180})
    values["fit"] = {"memory": "36 KiB"}  # less than the fits of these need
    tasks = plan_of(parsed(values)).tasks
    assert len({task.name for task in tasks}) == len(tasks)
    assert len({task.identity for task in tasks}) == len(tasks)
    assert {task.name.partition("/")[0] for task in tasks} == set(STAGES)
    assert {type(task) for task in tasks} == {type(task) for task, _ in TASKS}
