import os
import pickle
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import load_samples
from kernel_pipeline.errors import ConfigError, TooLargeError
from kernel_pipeline.plan import memory
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import DatasetPlan, Plan, make_plan
from kernel_pipeline.stages import tiles as tiles_stage
from kernel_pipeline.stages import weights as weights_stage
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.one_stage import OPERATIONS_PER_TASK, EachKernelTask, OneStageTask, kernel_batches
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.stages.task import STAGES, Task
from kernel_pipeline.stages.tiles import GramTask, TilesTask, batches, tile_slices, tiles_on_and_above_diagonal
from kernel_pipeline.stages.weights import MAX_KERNELS_ALL_TRIALS, WeightsTask, trial_batches
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.learners.align_krr import AlignKrr
from kernel_pipeline.tasks.learners.each_kernel import EachKernel
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.alignf_linear import AlignfLinear
from kernel_pipeline.tasks.weights.unif import Unif
from kernel_pipeline.text import format_bytes
from tests.helpers.build import PROJECT, parsed, synthetic_values

COMMON: dict[str, Any] = {"dataset": "made", "fingerprint": "f" * 64}
GRAM: dict[str, Any] = {**COMMON, "tile": 4, "families": (GaussianFamily((-3, 3)),)}
OTHER_GRAM: dict[str, Any] = {"tile": 5, "families": (GaussianFamily((-3, -1)), GaussianFamily((0, 3)))}
TARGET = Target("regression", (0,))
CELL: dict[str, Any] = {"target": TARGET, "trial": 0}
OTHER_CELL: dict[str, Any] = {"target": Target("regression", (1,)), "trial": 1, "metrics": ("mae",)}
# One task of each kind, and for each of its fields another value.
TASKS: list[tuple[Task, dict[str, Any]]] = [
    (
        TilesTask(**GRAM, number=0, tiles=((0, 0), (0, 1))),
        {"number": 1, "tiles": ((0, 0), (1, 1))},
    ),
    (
        ReduceTask(**GRAM, tasks=("regression",), folds=5, batches=2),
        {"tasks": ("classification",), "folds": 6, "batches": 3},
    ),
    (
        WeightsTask(**GRAM, problem="regression", method=Align(), trials=(0, 1)),
        {"problem": "classification", "method": Align(1.5), "trials": (0, 1, 2)},
    ),
    (
        CombineTask(**GRAM, number=0, problem="regression", method=Unif(), trials=(0, 1), tiles=((0, 0),)),
        {"number": 1, "problem": "classification", "method": Align(), "trials": (0,), "tiles": ((0, 1),)},
    ),
    (
        FitTask(**GRAM, **CELL, method=Align(2.0), values=(1.0, 0.5)),
        {**OTHER_CELL, "method": Align(3.0), "values": (1.0, 0.25)},
    ),
    (
        OneStageTask(**GRAM, **CELL, method=L2Krr(), values=((1.0, 0.5),)),
        {**OTHER_CELL, "method": AlignKrr(), "values": ((1.0, 0.25),)},
    ),
    (
        EachKernelTask(**GRAM, **CELL, method=EachKernel(), kernels=(0, 1), values=(1.0, 0.5)),
        {**OTHER_CELL, "method": Unif(), "kernels": (0, 1, 2), "values": (1.0, 0.25)},
    ),
    (
        RankOneStatisticsTask(**COMMON, targets=(TARGET,), folds=5),
        {"targets": (Target("classification", (0,)),), "folds": 6},
    ),
    (
        RankOneFitTask(**COMMON, **CELL, method=Align(), values=((1.0,),)),
        {**OTHER_CELL, "method": Align(1.5), "values": ((0.5,),)},
    ),
    (
        RankOneOneStageTask(**COMMON, **CELL, method=L2Krr(), values=((1.0,),)),
        {**OTHER_CELL, "method": AlignKrr(), "values": ((0.5,),)},
    ),
]
SHARED: dict[str, Any] = {"dataset": "other", "fingerprint": "e" * 64}
FIELDS = [
    (task, name, value)
    for task, others in TASKS
    for name, value in {**SHARED, **(OTHER_GRAM if isinstance(task, GramTask) else {}), **others}.items()
]

RANK_ONE = [{"family": "rank-one"}]
EVERY_METHOD: list[Any] = [
    "unif",
    "align",
    {"method": "align", "q": 1.5},
    "alignf",
    "alignf-linear",
    "best-kernel",
    "l1-svm",
    "l2-krr",
    "align-krr",
    "each-kernel",
]

CELLS = [("regression", "unif"), ("regression", "alignf")]

sizes = st.integers(1, 60)
# A machine under load is slow; that is no failure.
unhurried = settings(deadline=None)


def plan_of(config: Config) -> Plan:
    return make_plan(config, [load_samples(config, dataset, Path("nowhere")).outline for dataset in config.dataset])


def small(**dataset: Any) -> Plan:
    return plan_of(parsed(synthetic_values(**dataset)))


def tiles_of(dataset: DatasetPlan) -> int:
    return sum(len(task.tiles) for task in dataset.of(TilesTask))


def gram_bytes(dataset: DatasetPlan, combined: int, weighted: int) -> int:
    """What the chunks of a dataset with 2 kernels, 3 folds, tiles of 4 x 4 in one batch take, each with a checksum."""
    m, d, tiles, problems = dataset.outline.rows, dataset.outline.columns, tiles_of(dataset), len(dataset.tasks_learned)
    floats = (
        tiles * (2 + combined * 3) * 4 * 4
        + 3 * 3 * 2 * (2 + problems)  # sums by pair of folds
        + (3 + 1) * 2 * m  # sums by row, and the diagonal
        + m * (d + problems + 2)  # features, labels, order and folds
        + problems * 3 * (2 * 2 * 2 + 9 * 2 + 2)  # M and M_test, nine statistics of the kernels, two norms
        + weighted * 3 * (2 + 1)  # weights and a certificate
    )
    return 8 * floats + 4 * (tiles * (1 + combined * 3) + 4 + 4 + problems * 3 * 12 + weighted * 3 * 2)


# Tiles


@unhurried
@given(samples=sizes, tile=st.integers(1, 70))
def test_tiles_cover_the_upper_triangle_exactly_once(samples: int, tile: int) -> None:
    covered = np.zeros((samples, samples), dtype=int)
    for place in tiles_on_and_above_diagonal(samples, tile):
        rows, columns = tile_slices(place, tile, samples)
        assert 0 < rows.stop - rows.start <= tile
        assert 0 < columns.stop - columns.start <= tile
        covered[rows, columns] += 1
    assert (covered[np.triu_indices(samples)] == 1).all()
    assert covered.max() == 1
    # Below the diagonal there is only what lies inside a tile on it.
    side = np.arange(samples) // tile
    assert ((covered == 0) == (side[:, None] > side[None, :])).all()


@unhurried
@given(samples=sizes, tile=st.integers(1, 70), kernels=st.integers(1, 30), entries=st.integers(1, 5000))
def test_batches_partition_the_tiles_in_order(samples: int, tile: int, kernels: int, entries: int) -> None:
    tiles = tiles_on_and_above_diagonal(samples, tile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_stage, "ENTRIES_A_TASK", entries)
        cut = list(batches(tiles, tile, samples, kernels))
        again = list(batches(tiles, tile, samples, kernels))
    assert [tile for batch in cut for tile in batch] == tiles
    assert all(cut)
    assert cut == again
    # A batch of several tiles keeps to the work of a task, and no batch but the last could take one more.
    one = kernels * min(tile, samples) ** 2
    assert all(len(batch) == 1 or len(batch) * one <= entries for batch in cut)
    most = tiles_stage.TILES_A_TASK
    assert all((len(batch) + 1) * one > entries or len(batch) == most for batch in cut[:-1])


# Plans


def test_plan_of_a_small_sweep() -> None:
    plan = small()
    (dataset,) = plan.datasets
    assert (dataset.outline.rows, dataset.outline.columns, dataset.folds) == (10, 5, 3)
    assert (dataset.tile, tiles_of(dataset)) == (4, 6)
    assert list(dataset.cells) == CELLS
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
    assert (plan.datasets[0].tile, tiles_of(plan.datasets[0])) == (10, 1)


def test_batches_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tile has 2 x 4 x 4 entries of kernels, or 14 x 4 x 4 with what four methods combine it into in 3 trials.
    monkeypatch.setattr(tiles_stage, "ENTRIES_A_TASK", 2 * 14 * 16)
    (dataset,) = small(rows=20).datasets
    assert [len(task.tiles) for task in dataset.of(TilesTask)] == [14, 1]
    assert [task.batches for task in dataset.of(ReduceTask)] == [2]
    batches_of = {cell: [task for task in dataset.of(CombineTask) if task.cell == cell] for cell in CELLS}
    for tasks in batches_of.values():
        assert [len(task.tiles) for task in tasks] == [2] * 7 + [1]
    assert len({task.batch_key for task in dataset.of(CombineTask)}) == 8


def test_one_more_method_leaves_the_tasks_of_the_others_as_they_are() -> None:
    values = synthetic_values()
    few, more = (
        {task.name: task.identity for task in plan_of(parsed(values | {"methods": methods})).tasks}
        for methods in (EVERY_METHOD[:2], EVERY_METHOD[:6])
    )
    assert len(few) < len(more)
    assert few.items() <= more.items()


@pytest.mark.parametrize(("trials", "kernels"), [(3, 1), (5, 1000), (5, 1001), (100, 5000)])
def test_every_trial_is_in_one_batch_of_weights(trials: int, kernels: int) -> None:
    cut = trial_batches(trials, kernels)
    assert [trial for batch in cut for trial in batch] == list(range(trials))
    assert len(cut) == (1 if kernels <= MAX_KERNELS_ALL_TRIALS else trials)


def test_many_kernels_make_a_task_of_weights_a_trial() -> None:
    (dataset,) = small(kernels=[{"family": "gaussian", "log2_gamma": [-500, 500]}]).datasets
    assert len(dataset.kernels) > MAX_KERNELS_ALL_TRIALS
    assert [task.trials for task in dataset.of(WeightsTask)] == [(0,), (1,), (2,)] * 2


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
    assert [task.cell for task in dataset.of(CombineTask)] == [("regression", "alignf")]
    assert [task.values for task in dataset.of(OneStageTask)] == [tuple((2.0**e,) for e in range(0, 31, 2))] * 3
    assert [task.kernels for task in dataset.of(EachKernelTask)] == [(0, 1)] * 3
    # Of the combined kernels, only those of alignf are stored; l2-krr has weights as well.
    assert dataset.disk_bytes == gram_bytes(dataset, combined=1, weighted=2)
    # Base kernels are held in memory by these two, and by no other method.
    (without,) = plan_of(parsed(values | {"methods": ["alignf"]})).datasets
    for methods in (["l2-krr"], ["each-kernel"]):
        (alone,) = plan_of(parsed(values | {"methods": methods})).datasets
        assert (alone.stages["weights"], alone.stages["combine"]) == ((), ())
        # Two copies of M and M_test, of four vectors and of the norms; three of the weights.
        statistics = 2 * (2 * 2 * 2 + 3 * 2 + 2) + 3 * 2
        assert alone.memory["fits"] - without.memory["fits"] == 8 * (2 * 10 * (10 + 4) + statistics)


def test_the_q_of_align_goes_to_its_tasks_and_its_name() -> None:
    values = synthetic_values() | {"methods": ["align", {"method": "align", "q": 1.5}]}
    (gram,) = plan_of(parsed(values)).datasets
    expected = [("align", Align()), ("align-q1.5", Align(1.5))]
    assert [(task.method_id, task.method) for task in gram.of(WeightsTask)] == expected
    assert [task.method for task in gram.of(CombineTask)] == [Align(), Align(1.5)]
    values["dataset"][0]["kernels"] = RANK_ONE
    (rank_one,) = plan_of(parsed(values)).datasets
    assert {(task.method_id, task.method) for task in rank_one.of(RankOneFitTask)} == set(expected)


def test_trials_that_are_solved_apart_are_combined_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed solve of one trial must not keep the others from their combined kernels."""
    monkeypatch.setattr(weights_stage, "MAX_KERNELS_ALL_TRIALS", 1)
    values = synthetic_values() | {"methods": ["alignf", "unif"]}
    (dataset,) = plan_of(parsed(values)).datasets
    for stage in (dataset.of(WeightsTask), dataset.of(CombineTask)):
        assert sorted(task.trials for task in stage) == sorted([(0,), (1,), (2,)] * 2)
    for task in dataset.of(CombineTask):
        (name, (trial,)) = task.name, task.trials
        assert name == f"combine/made/regression/{task.method.method_id}/0/{trial}"
        _, mu, trace = task.inputs()
        assert mu.parts == (f"weights.zarr/made/regression/{task.method.method_id}/c/{trial}",)
        assert trace.parts == (f"statistics.zarr/made/regression/trace/c/{trial}",)
    assert len({task.batch_key for task in dataset.of(CombineTask)}) == 1  # each tile is read once
    failed = "weights/made/regression/alignf/1-1"
    assert set(dataset.graph.first_marked([failed])) == {
        "combine/made/regression/alignf/0/1",
        "fits/made/regression/alignf/1",
    }


@pytest.mark.parametrize(
    ("kernels", "samples", "sizes_of_batches"),
    [(7, 10, [7]), (7, 1000, [7]), (25, 1000, [10, 10, 5]), (3, 5000, [1, 1, 1]), (1, 100_000, [1])],
)
def test_single_kernels_are_fitted_about_a_second_at_a_time(
    kernels: int, samples: int, sizes_of_batches: list[int]
) -> None:
    cut = kernel_batches(kernels, samples)
    assert [kernel for batch in cut for kernel in batch] == list(range(kernels))
    assert [len(batch) for batch in cut] == sizes_of_batches
    assert all(len(batch) == 1 or len(batch) * samples**3 <= OPERATIONS_PER_TASK for batch in cut)


def test_a_rank_one_dataset_has_two_stages_and_stores_no_matrix() -> None:
    values = synthetic_values(kernels=RANK_ONE) | {"methods": [*EVERY_METHOD[:6], "l2-krr", "align-krr"]}
    (dataset,) = plan_of(parsed(values)).datasets
    assert dataset.rank_one
    assert dataset.kernels == ("0", "1", "2", "3", "4")
    counts = {stage: len(tasks) for stage, tasks in dataset.stages.items()}
    assert counts == {"tiles": 0, "reduce": 1, "weights": 0, "combine": 0, "fits": 8 * 3}
    assert [label for _, label in dataset.cells] == [
        *("unif", "align", "align-q1.5", "alignf", "alignf-linear", "best-kernel", "l2-krr", "align-krr"),
    ]
    assert set(dataset.memory) == {"reduce", "fits"}
    # Columns with the place of each number, by row; labels, order and folds; in each trial 7 statistics of the kernels,
    # 2 norms, and the weights and certificates of 8 methods. Nothing has p x p. Each chunk has a checksum.
    floats = 2 * 10 * 5 + 11 + 5 + 3 * 10 + 3 * (7 * 5 + 2 + 8 * (5 + 1))
    assert dataset.disk_bytes == 8 * floats + 4 * (7 + 3 * (8 + 8 * 2))


def test_a_method_that_does_not_fit_a_task_is_left_out_there_and_said_once() -> None:
    values = synthetic_values() | {"methods": ["unif", "l2-krr", "each-kernel"]}
    values["dataset"] += [
        {**values["dataset"][0], "name": "sides", "task": "classification"},
        {**values["dataset"][0], "name": "columns", "kernels": RANK_ONE},
        {**values["dataset"][0], "name": "more-sides", "task": "classification"},
    ]
    plan = plan_of(parsed(values))
    cells = {dataset.name: [method for _, method in dataset.cells] for dataset in plan.datasets}
    both = ["unif", "l2-krr"]
    assert cells == {"made": both, "sides": ["unif"], "columns": both, "more-sides": ["unif"]}
    assert lines(plan.notes()) == [
        "note: l2-krr on sides (classification), more-sides (classification): left out, since it is for regression",
        "note: each-kernel on columns (regression): left out, since a rank-one kernel alone is a single feature",
    ]


def test_a_method_that_fits_no_dataset_is_refused() -> None:
    values = synthetic_values(kernels=RANK_ONE) | {"methods": ["unif", "each-kernel"]}
    with pytest.raises(ConfigError, match=r"'each-kernel' fits no dataset of this sweep: a rank-one kernel alone is a"):
        plan_of(parsed(values))


def test_methods_that_need_all_products_are_for_5000_kernels_at_most() -> None:
    for rank_one in (True, False):
        for method in (AlignfLinear(), AlignKrr()):
            assert method.unsupported_reason("regression", 5000, rank_one) is None
            assert method.unsupported_reason("regression", 5001, rank_one) == (
                "it needs a matrix of 5,001 x 5,001; 5,000 kernels at most"
            )
        assert Alignf().unsupported_reason("regression", 10**6, rank_one) is None
        assert L2Krr().unsupported_reason("regression", 10**6, rank_one) is None


def test_kernels_of_several_families_follow_each_other() -> None:
    plan = small(kernels=[{"family": "gaussian", "log2_gamma": [5, 5]}, {"family": "gaussian", "log2_gamma": [-1, 0]}])
    assert plan.datasets[0].kernels == ("gaussian(2^5)", "gaussian(2^-1)", "gaussian(2^0)")
    assert [task.families for task in plan.datasets[0].of(TilesTask)] == [
        (GaussianFamily((5, 5)), GaussianFamily((-1, 0)))
    ]


def test_the_same_config_gives_the_same_plan() -> None:
    assert small() == small()


def test_names_of_tasks_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_stage, "ENTRIES_A_TASK", 64)
    values = synthetic_values()
    values["methods"] = EVERY_METHOD
    values["dataset"].append({**values["dataset"][0], "name": "made-1", "task": "classification"})
    values["dataset"].append({**values["dataset"][0], "name": "made-2", "kernels": RANK_ONE})
    tasks = plan_of(parsed(values)).tasks
    assert len({task.name for task in tasks}) == len(tasks)
    assert len({task.identity for task in tasks}) == len(tasks)
    assert {task.name.partition("/")[0] for task in tasks} == set(STAGES)
    assert {type(task) for task in tasks} == {type(task) for task, _ in TASKS}


@pytest.mark.parametrize("config", [None, "long path", "many rows"])
def test_a_task_is_small_to_send(config: str | None) -> None:
    values = synthetic_values()
    if config is None:
        values["storage"] = {"tile": 4}
    elif config == "long path":
        values["fit"] = {"krr": {"from": -100, "to": 100, "step": 1}}
    else:
        # The least work a tile at the tile of the shipped configs: as many tiles a task as it gets.
        values["dataset"][0] |= {"rows": 20_000, "kernels": [{"family": "gaussian", "log2_gamma": [0, 0]}]}
        values["storage"] = {"tile": 512}
    tasks = plan_of(parsed(values)).tasks
    assert max(len(pickle.dumps(task)) for task in tasks) < 10_000


# Memory and disk


def test_largest_is_the_greatest_of_all_stages_and_datasets() -> None:
    values = synthetic_values()
    values["dataset"].append({**values["dataset"][0], "name": "larger", "rows": 200})
    plan = plan_of(parsed(values))
    size, stage, dataset = plan.largest
    assert dataset.name == "larger"
    assert size == dataset.memory[stage] == max(max(each.memory.values()) for each in plan.datasets)


def test_memory_that_just_suffices() -> None:
    plan = small()
    size, stage, _ = plan.largest
    plan.check_memory(size, 2)
    with pytest.raises(TooLargeError) as caught:
        plan.check_memory(size - 1, 2)
    for word in (repr(stage), format_bytes(size), "2 worker(s)", "--workers 1"):
        assert word in str(caught.value)


def test_disk_that_just_suffices() -> None:
    plan = small()
    plan.check_disk(plan.disk_bytes, "there")
    with pytest.raises(TooLargeError, match=r"need 8.85 KiB, but there has 8.85 KiB free"):
        plan.check_disk(plan.disk_bytes - 1, "there")


@unhurried
@given(
    samples=st.integers(3, 5000),
    features=st.integers(1, 100),
    kernels=st.integers(1, 50),
    folds=st.integers(3, 10),
    tile=st.integers(1, 600),
)
def test_projected_memory_grows_with_every_size(
    samples: int, features: int, kernels: int, folds: int, tile: int
) -> None:
    def of(samples: int, features: int, kernels: int, tile: int) -> dict[str, int]:
        lengths = {"sample": samples, "feature": features, "kernel": kernels, "tile": tile}
        sizes = Sizes(**lengths, entry=samples * features, problem=1, fold=folds, batch=1)
        return memory.gram_projection(sizes, ["regression"], rules=2, reads_base=False)

    base = of(samples, features, kernels, tile)
    assert set(base) == set(STAGES)
    assert min(base.values()) >= memory.RESERVED
    for larger in (
        of(2 * samples, features, kernels, tile),
        of(samples, features + 1, kernels, tile),
        of(samples, features, kernels + 1, tile),
        of(samples, features, kernels, tile + 1),
    ):
        assert all(larger[stage] >= base[stage] for stage in STAGES)


@unhurried
@given(
    samples=st.integers(3, 5000),
    entries=st.integers(1, 10**6),
    kernels=st.integers(1, 10**5),
    folds=st.integers(3, 10),
    needs_m=st.booleans(),
)
def test_projected_memory_of_rank_one_kernels_grows_with_every_size(
    samples: int, entries: int, kernels: int, folds: int, needs_m: bool
) -> None:
    def of(samples: int, entries: int, kernels: int, needs_m: bool) -> dict[str, int]:
        lengths = {"sample": samples, "feature": kernels, "entry": entries, "kernel": kernels}
        sizes = Sizes(**lengths, problem=1, fold=folds, batch=0, tile=1)
        return memory.rank_one_projection(sizes, ["classification"], needs_m)

    base = of(samples, entries, kernels, needs_m)
    assert set(base) == {"reduce", "fits"}
    assert min(base.values()) >= memory.RESERVED
    for larger in (
        of(2 * samples, entries, kernels, needs_m),
        of(samples, entries + 1, kernels, needs_m),
        of(samples, entries, kernels + 1, needs_m),
        of(samples, entries, kernels, True),
    ):
        assert all(larger[stage] >= base[stage] for stage in base)
    # No p x p matrix is made where no method asks for one.
    assert needs_m or base["fits"] < memory.RESERVED + (200 << 20) + 8 * (12 * entries + 23 * kernels + 18 * samples**2)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (int(3.21 * 2**30), "3.21 GiB"),
        (5 << 40, "5 TiB"),
    ],
)
def test_bytes_for_people(size: int, text: str) -> None:
    assert format_bytes(size) == text


# Identity


def test_every_field_has_another_value_here() -> None:
    """Otherwise the next test would miss a new one."""
    for task, _ in TASKS:
        assert {field.name for field in fields(task)} == {name for other, name, _ in FIELDS if other is task}
    assert {task.stage for task, _ in TASKS} == set(STAGES)


@pytest.mark.parametrize(
    ("task", "name", "value"), FIELDS, ids=[f"{type(task).__name__}-{name}" for task, name, _ in FIELDS]
)
def test_identity_changes_with_every_field(task: Task, name: str, value: Any) -> None:
    assert replace(task, **{name: value}).identity != task.identity
    assert replace(task).identity == task.identity


@pytest.mark.parametrize("task", [task for task, _ in TASKS], ids=lambda task: type(task).__name__)
def test_identity_changes_with_the_version(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    before = task.identity
    monkeypatch.setattr(type(task), "version", type(task).version + 1)
    assert task.identity != before


@pytest.mark.parametrize(
    "task", [task for task, _ in TASKS if "method" in vars(task)], ids=lambda task: type(task).__name__
)
def test_identity_changes_with_the_version_of_the_method(task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = task.identity
    monkeypatch.setattr(type(task.method), "version", type(task.method).version + 1)
    assert task.identity != before


def test_a_task_holds_nothing_that_has_no_identity() -> None:
    with pytest.raises(TypeError, match="a task cannot hold"):
        _ = FitTask(**GRAM, **CELL, method=Unif(), values={1.0}).identity  # type: ignore[arg-type]


def test_identity_survives_pickling() -> None:
    for task, _ in TASKS:
        again = pickle.loads(pickle.dumps(task))
        assert again == task
        assert again.identity == task.identity


def test_identity_is_the_same_in_another_process() -> None:
    """A later run, with hashes salted anew, must find the tasks of an earlier one in the ledger."""
    lines = [f"from {type(task).__module__} import {type(task).__name__}" for task, _ in TASKS]
    held = {type(value) for task, _ in TASKS for value in vars(task).values() if is_dataclass(value)}
    lines += [f"from {kind.__module__} import {kind.__name__}" for kind in (GaussianFamily, *held)]
    lines += [f"print({task!r}.identity)" for task, _ in TASKS]
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONHASHSEED": salt},
        cwd=PROJECT,
    )
    assert done.stdout.split() == [task.identity for task, _ in TASKS]


def test_a_task_of_tiny_tiles_is_small_to_send() -> None:
    plan = plan_of(parsed(synthetic_values(rows=400) | {"storage": {"tile": 2}}))
    assert max(len(pickle.dumps(task)) for task in plan.tasks) < 10_000


@unhurried
@given(size=st.integers(0, 900 << 40))
@example(size=1_023_700)
def test_bytes_for_people_are_never_powers_of_ten(size: int) -> None:
    assert "e" not in format_bytes(size)
