"""The work of a plan is divided into tasks."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel_pipeline.stages import tiles as tiles_stage
from kernel_pipeline.stages import weights as weights_stage
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.single_kernels import OPERATIONS_PER_TASK, kernel_batches, kernels_per_task
from kernel_pipeline.stages.tile_sources import tile_slices, tiles_on_and_above_diagonal
from kernel_pipeline.stages.tiles import TilesTask, batches
from kernel_pipeline.stages.weights import MAX_KERNELS_ALL_TRIALS, WeightsTask, trial_batches
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import METHOD_KEYS, plan_of, small, unhurried

sizes = st.integers(1, 60)


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
    # Below the diagonal, only entries inside of diagonal tiles are covered.
    side = np.arange(samples) // tile
    assert ((covered == 0) == (side[:, None] > side[None, :])).all()


@unhurried
@given(samples=sizes, tile=st.integers(1, 70), kernels=st.integers(1, 30), entries=st.integers(1, 5000))
def test_batches_partition_the_tiles_in_order(samples: int, tile: int, kernels: int, entries: int) -> None:
    tiles = tiles_on_and_above_diagonal(samples, tile)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_stage, "ENTRIES_PER_TASK", entries)
        patch.setattr(tiles_stage, "MIN_ENTRIES_PER_SAMPLE", 0)
        patch.setattr(tiles_stage, "MAX_BATCHES", len(tiles))
        cut = list(batches(tiles, tile, samples, kernels))
        again = list(batches(tiles, tile, samples, kernels))
    assert [tile for batch in cut for tile in batch] == tiles
    assert all(cut)
    assert cut == again
    # A batch of several tiles stays within the work of a task, and only the last batch could take one more tile.
    one = kernels * min(tile, samples) ** 2
    assert all(len(batch) == 1 or len(batch) * one <= entries for batch in cut)
    most = tiles_stage.MAX_TILES_PER_TASK
    assert all((len(batch) + 1) * one > entries or len(batch) == most for batch in cut[:-1])


def test_many_tiles_are_cut_into_a_limited_number_of_batches() -> None:
    tiles = tiles_on_and_above_diagonal(45_730, 512)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_stage, "MIN_ENTRIES_PER_SAMPLE", 0)
        cut = list(batches(tiles, 512, 45_730, 13))
    assert len(tiles) == 4095
    assert (len(cut), len(cut[0])) == (100, 41)
    assert [tile for batch in cut for tile in batch] == tiles
    assert len(list(batches(tiles, 512, 45_730, 1))) == 22  # of 190 tiles with 50 million entries


def test_the_sums_of_a_batch_are_small_relative_to_its_entries() -> None:
    tiles = tiles_on_and_above_diagonal(45_730, 512)
    cut = list(batches(tiles, 512, 45_730, 13))
    assert {len(batch) for batch in cut[:-1]} == {500 * 45_730 // 512**2}
    # With few samples, a task of about one second has more entries per sample anyway.
    assert len(list(batches(tiles_on_and_above_diagonal(4000, 512), 512, 4000, 7))) == 2


def test_batches_of_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    # A tile has 2 x 4 x 4 entries of kernels, and 14 x 4 x 4 with the combined kernels of four methods in 3 trials.
    monkeypatch.setattr(tiles_stage, "ENTRIES_PER_TASK", 2 * 14 * 16)
    monkeypatch.setattr(tiles_stage, "MIN_ENTRIES_PER_SAMPLE", 0)
    (dataset,) = small(rows=20).datasets
    assert [len(task.tiles) for task in dataset.of(TilesTask)] == [14, 1]
    assert [task.batches for task in dataset.of(ReduceTask)] == [2]
    batches_of = {key: [task for task in dataset.of(CombineTask) if task.method_key == key] for key in METHOD_KEYS}
    for tasks in batches_of.values():
        assert [len(task.tiles) for task in tasks] == [2] * 7 + [1]
    assert len({task.batch_key for task in dataset.of(CombineTask)}) == 8


@pytest.mark.parametrize(("trials", "kernels"), [(3, 1), (5, 1000), (5, 1001), (100, 5000)])
def test_every_trial_is_in_one_batch_of_weights(trials: int, kernels: int) -> None:
    cut = trial_batches(trials, kernels)
    assert [trial for batch in cut for trial in batch] == list(range(trials))
    assert len(cut) == (1 if kernels <= MAX_KERNELS_ALL_TRIALS else trials)


def test_many_kernels_have_one_task_of_weights_per_trial() -> None:
    (dataset,) = small(kernels=[{"family": "gaussian", "log2_gamma": [-500, 500]}]).datasets
    assert len(dataset.kernels) > MAX_KERNELS_ALL_TRIALS
    assert [task.trials for task in dataset.of(WeightsTask)] == [(0,), (1,), (2,)] * 2


def test_trials_that_are_solved_separately_are_combined_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure in one trial must not prevent the combined kernels of the others."""
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
def test_fits_of_single_kernels_are_batched_to_about_one_second(
    kernels: int, samples: int, sizes_of_batches: list[int]
) -> None:
    cut = kernel_batches(kernels, kernels_per_task(kernels, samples))
    assert [kernel for batch in cut for kernel in batch] == list(range(kernels))
    assert [len(batch) for batch in cut] == sizes_of_batches
    assert all(len(batch) == 1 or len(batch) * samples**3 <= OPERATIONS_PER_TASK for batch in cut)


@pytest.mark.parametrize("config", [None, "long path", "many rows", "tiny tiles"])
def test_pickled_tasks_are_small(config: str | None) -> None:
    values = synthetic_values()
    if config is None:
        values["storage"] = {"tile": 4}
    elif config == "long path":
        values["fit"] = {"krr": {"from": -100, "to": 100, "step": 1}}
    elif config == "tiny tiles":
        values["dataset"][0]["rows"] = 400
        values["storage"] = {"tile": 2}
    else:
        # The tiles of the shipped configs with the least work, so that tasks have as many tiles as possible.
        values["dataset"][0] |= {"rows": 20_000, "kernels": [{"family": "gaussian", "log2_gamma": [0, 0]}]}
        values["storage"] = {"tile": 512}
    tasks = plan_of(parsed(values)).tasks
    assert max(len(pickle.dumps(task)) for task in tasks) < 10_000
