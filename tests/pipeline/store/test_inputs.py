import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import STATISTICS, DamagedError, RunStore
from kernel_pipeline.store.inputs import (
    COUNT_SHIFT,
    InputDigests,
    check_inputs,
    inputs_have_changed,
    ledger_digest,
    precomputed_tiles,
    trials_of,
    whole,
)
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import TINY
from tests.helpers.sweeps import run_here, small_config

Done = tuple[Path, Plan, InputDigests]


def digests_of(root: Path) -> InputDigests:
    """Return the digests of all files that the ledger of a directory names."""
    digests = InputDigests()
    for entry in Ledger(LocalStorage(root)).read().entries():
        digests.add(entry.digests)
    return digests


@pytest.fixture(scope="module", params=["gram", "rank-one too"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Return a directory in which every task is done, its plan and its digests."""
    root = tmp_path_factory.mktemp("run")
    plan, _, _ = run_here(root, small_config() if request.param == "gram" else parse_config(TINY, "a test"))
    return root, plan, digests_of(root)


def of_each_kind(plan: Plan) -> list[Task]:
    return list({(type(task), task.dataset, task.method_key): task for task in plan.tasks}.values())


def test_every_kind_of_task_reads_exactly_its_declared_inputs(done: Done) -> None:
    root, plan, digests = done
    for task in of_each_kind(plan):
        store = RunStore(LocalStorage(root))
        (entry,) = run_tasks([task], store, [digests.of(task)])
        assert entry.inputs == ledger_digest(digests.of(task))
        assert int(entry.inputs.partition(":")[0]) == len(store.access.read)


def test_each_single_chunk_that_a_task_reads_is_checked(done: Done) -> None:
    root, plan, digests = done
    for task in of_each_kind(plan):
        store = RunStore(LocalStorage(root))
        run_tasks([task], store)
        read = store.access.read
        for key in read:
            with pytest.raises(DamagedError, match=f"{key.rpartition('/c/')[0]} differs from the ledger"):
                check_inputs([task], [digests.of(task)], read | {key: "00000000:36"}, is_finished=True)
            for other in {digest for digest in read.values() if digest != read[key]}:  # swapped chunks
                with pytest.raises(DamagedError):
                    check_inputs([task], [digests.of(task)], read | {key: other}, is_finished=True)


def test_an_input_that_a_task_does_not_declare_is_an_error(done: Done) -> None:
    _, plan, digests = done
    task = plan.tasks[0]
    with pytest.raises(TypeError, match=f"{task.name} reads data.zarr/x/other, which it does not declare"):
        check_inputs([task], [digests.of(task)], {"data.zarr/x/other/c/0": "00000000:36"}, is_finished=False)


def test_a_partly_read_input_is_not_checked_if_the_task_has_stopped(done: Done) -> None:
    root, plan, digests = done
    task = next(task for task in plan.tasks if task.stage == "combine")
    store = RunStore(LocalStorage(root))
    run_tasks([task], store)
    first = dict.fromkeys(list(store.access.read)[:1], "00000000:36")
    some = {key: digest for key, digest in store.access.read.items() if "/gram/" in key}
    some.popitem()
    check_inputs([task], [digests.of(task)], some, is_finished=False)
    for read, is_finished in ((some, True), (first, True)):
        with pytest.raises(DamagedError):
            check_inputs([task], [digests.of(task)], read, is_finished)


def test_a_failure_on_changed_inputs_is_reported_as_damage(done: Done, monkeypatch: pytest.MonkeyPatch) -> None:
    root, plan, digests = done
    task = next(task for task in plan.tasks if task.stage == "weights")

    def fail(*_: object) -> None:
        raise ValueError("these values make no sense")

    monkeypatch.setattr(type(task), "_solve", fail)
    with pytest.raises(ValueError, match="no sense"):
        run_tasks([task], RunStore(LocalStorage(root)), [digests.of(task)])
    with pytest.raises(DamagedError, match="differs from the ledger"):
        run_tasks([task], RunStore(LocalStorage(root)), [tuple(total + 1 for total in digests.of(task))])


def test_recomputed_files_count_once() -> None:
    digests, again = InputDigests(), InputDigests()
    before, after = {"data.zarr/d/x/c/0": "aa:8", "data.zarr/d/zarr.json": "cc:3"}, {"data.zarr/d/x/c/0": "bb:8"}
    digests.add(before)
    digests.replace(before, after)
    again.add(after)
    assert digests._totals == again._totals
    assert set(digests._totals) == {whole("data.zarr", "d/x").array, "data.zarr/d/x/c/0"}


@pytest.mark.parametrize(
    ("recorded", "now", "is_other"),
    [
        ("2:5", [(1 << 128) + 2, (1 << 128) + 3], False),
        ("2:5", [(2 << 128) + 6], True),
        ("2:5", [(3 << 128) + 5], True),
        ("2:5", [(1 << 128) + 6], False),  # one is still to be computed
        ("", [(2 << 128) + 6], False),  # of an earlier version
    ],
)
def test_changed_inputs_are_reported_once_all_are_available(recorded: str, now: list[int], is_other: bool) -> None:
    assert inputs_have_changed(recorded, now) is is_other


def test_pickled_digests_of_inputs_are_small(done: Done) -> None:
    _, plan, digests = done
    for task in plan.tasks:
        assert len(pickle.dumps(digests.of(task))) < 300


@pytest.mark.parametrize("dataset", ["wave", "sums", "precomputed", "trials", "c"])
def test_names_of_datasets_do_not_change_what_their_arrays_are(dataset: str) -> None:
    digests = InputDigests()
    digests.add({f"statistics.zarr/{dataset}/regression/M/c/{trial}/0/0": f"0000000{trial}:36" for trial in range(3)})
    digests.add({f"statistics.zarr/{dataset}/sums/rows/c/0/0/0/{block}": "00000000:36" for block in range(2)})
    digests.add({f"data.zarr/{dataset}/precomputed/c/0/0/{column}": "00000000:36" for column in range(4)})
    needed = (
        trials_of(STATISTICS, f"{dataset}/regression/M", [1]),
        whole(STATISTICS, f"{dataset}/sums/rows"),
        precomputed_tiles(dataset, 1, [(0, 2), (0, 3)]),
    )
    task = SimpleNamespace(name="a task", inputs=lambda: needed)
    assert [total >> COUNT_SHIFT for total in digests.of(task)] == [1, 2, 2]
