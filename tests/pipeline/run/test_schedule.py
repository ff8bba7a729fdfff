import numpy as np
import pytest

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.retries import batch_name
from kernel_pipeline.run.schedule import Schedule, TaskBatch
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import STAGES, Task
from tests.helpers.sweeps import plan_in, small_config

WAVE = ("regression", "alignf")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_in(tmp_path_factory.mktemp("plan"), small_config())[0]


def drain(schedule: Schedule, rng: np.random.Generator, failing: str = "") -> list[TaskBatch]:
    """Take and finish batches in a random order until none is left; return them in the order of finishing."""
    running: list[TaskBatch] = []
    finished: list[TaskBatch] = []
    while True:
        while (batch := schedule.take()) is not None:
            running.append(batch)
        if not running:
            return finished
        done = running.pop(int(rng.integers(len(running))))
        finished.append(done)
        (schedule.fail if done[0].name == failing else schedule.finish)(done)


def ran(schedule: Schedule, failing: str = "") -> list[Task]:
    return [task for batch in drain(schedule, np.random.default_rng(0), failing) for task in batch]


def named(plan: Plan, name: str) -> Task:
    return next(task for task in plan.tasks if task.name == name)


def take_all(schedule: Schedule) -> list[TaskBatch]:
    return list(iter(schedule.take, None))


@pytest.mark.parametrize("seed", range(5))
def test_every_task_runs_once_and_after_its_dependencies(plan: Plan, seed: int) -> None:
    order = [task for batch in drain(Schedule(plan.tasks, set()), np.random.default_rng(seed)) for task in batch]
    place = {task.name: number for number, task in enumerate(order)}
    assert len(order) == len(place) == len(plan.tasks)
    for dataset in plan.datasets:
        for task in dataset.tasks:
            assert all(place[needed] < place[task.name] for needed in dataset.graph.ancestors([task.name]))


def test_a_dataset_does_not_wait_for_another(plan: Plan) -> None:
    schedule = Schedule(plan.tasks, set())
    first = take_all(schedule)
    assert {batch[0].dataset for batch in first} == {"wave", "flowers"}
    for batch in first:
        if batch[0].dataset == "wave":
            schedule.finish(batch)
    following = schedule.take()
    assert following is not None
    assert [(task.dataset, task.stage) for task in following] == [("wave", "reduce")]


def test_fits_of_a_method_do_not_wait_for_the_weights_of_another(plan: Plan) -> None:
    slow = "weights/wave/regression/alignf/0-3"
    schedule = Schedule([task for task in plan.tasks if task.dataset == "wave"], set())
    finished: list[str] = []
    while batches := [*take_all(schedule), *filter(None, [schedule.take(idle=True)])]:
        for batch in batches:
            if batch[0].name != slow:
                schedule.finish(batch)
                finished += [task.name for task in batch]
    assert {task.name for task in plan.datasets[0].tasks} - set(finished) == {
        task.name for task in plan.datasets[0].tasks if task.method_key == WAVE
    }
    schedule.finish((named(plan, slow),))
    assert {task.method_key for task in ran(schedule)} == {WAVE}


def test_a_task_is_sent_ahead_once_its_dependencies_are_sent(plan: Plan) -> None:
    schedule = Schedule(plan.tasks, {task.name for task in plan.tasks if task.dataset != "wave"})
    first = take_all(schedule)
    names = {task.name for batch in first for task in batch}
    assert schedule.take_ahead(set()) is None, "its dependencies have not been sent"
    schedule = Schedule(plan.tasks, {task.name for task in plan.tasks if task.dataset != "wave"})
    first = take_all(schedule)
    ahead = schedule.take_ahead(names)
    assert ahead is not None
    assert [task.stage for task in ahead] == ["reduce"]
    assert schedule.is_waiting(ahead)
    assert set(schedule.unfinished_dependencies(ahead)) == names
    for batch in first:
        schedule.finish(batch)
    assert not schedule.is_waiting(ahead)
    assert schedule.unfinished_dependencies(ahead) == []
    assert schedule.take() is None, "the others depend on the one that was sent ahead"


def test_a_batch_that_was_sent_ahead_waits_after_it_is_put_back(plan: Plan) -> None:
    schedule = Schedule(plan.tasks, {task.name for task in plan.tasks if task.dataset != "wave"})
    first = take_all(schedule)
    ahead = schedule.take_ahead({task.name for batch in first for task in batch})
    assert ahead is not None
    schedule.put_back(ahead)
    assert schedule.take() is None
    for batch in first:
        schedule.finish(batch)
    assert schedule.take() == ahead


def test_a_batch_that_was_sent_ahead_is_dropped_if_a_dependency_fails(plan: Plan) -> None:
    schedule = Schedule(plan.tasks, {task.name for task in plan.tasks if task.dataset != "wave"})
    first, *others = take_all(schedule)
    ahead = schedule.take_ahead({task.name for batch in (first, *others) for task in batch})
    assert ahead is not None
    schedule.fail(first)
    assert schedule.is_dropped(ahead)
    for batch in others:
        schedule.finish(batch)
    assert schedule.take(idle=True) is None


def test_tasks_of_a_batch_may_be_sent_alone(plan: Plan) -> None:
    done = {task.name for task in plan.tasks if task.dataset != "wave" or task.stage not in ("combine", "fits")}
    schedule = Schedule(plan.tasks, done)
    batch = schedule.take()
    assert batch is not None
    assert len(batch) == 4
    assert schedule.take() is None
    first, *others = batch
    for task in others:
        schedule.finish((task,))
    schedule.fail((first,))
    following = ran(schedule)
    assert {task.stage for task in following} == {"fits"}
    assert {task.method_key for task in following} == {task.method_key for task in others}


def test_finished_tasks_are_not_taken_again(plan: Plan) -> None:
    everything = {task.name for task in plan.tasks}
    assert Schedule(plan.tasks, everything).take() is None
    missing = "weights/wave/regression/alignf/0-3"
    assert [task.name for task in ran(Schedule(plan.tasks, everything - {missing}))] == [missing]


def test_the_tiles_of_all_methods_are_combined_in_one_batch(plan: Plan) -> None:
    batches = drain(Schedule(plan.tasks, set()), np.random.default_rng(0))
    together = {batch[0].batch_key: batch for batch in batches if isinstance(batch[0], CombineTask)}
    for dataset in plan.datasets:
        tasks = dataset.of(CombineTask)
        for number in {task.number for task in tasks}:
            batch = together.pop(f"combine/{dataset.name}/{number}")
            assert list(batch) == [task for task in tasks if task.number == number]
            assert {task.method_key for task in batch} == set(dataset.method_keys)
    assert together == {}
    assert all(len(batch) == 1 for batch in batches if not isinstance(batch[0], CombineTask))


def test_a_batch_contains_only_its_pending_tasks(plan: Plan) -> None:
    left = {"combine/wave/regression/align/0", "combine/wave/regression/unif/0"}
    (batch,) = drain(Schedule(plan.tasks, {task.name for task in plan.tasks} - left), np.random.default_rng(0))
    assert {task.name for task in batch} == left


def test_a_failed_task_of_one_cell_blocks_only_that_cell(plan: Plan) -> None:
    name = "weights/wave/regression/alignf/0-3"
    tasks = ran(Schedule(plan.tasks, set()), failing=name)
    never = {task.name for task in plan.tasks} - {task.name for task in tasks}
    dependents = ("combine", "fits")
    assert never == {
        t.name for t in plan.tasks if (t.dataset, t.method_key) == ("wave", WAVE) and t.stage in dependents
    }
    assert len(never) == 1 + 4


@pytest.mark.parametrize("name", ["tiles/wave/0", "reduce/wave/regression"])
def test_a_failed_task_that_serves_all_cells_blocks_its_dataset_and_no_other(plan: Plan, name: str) -> None:
    tasks = ran(Schedule(plan.tasks, set()), failing=name)
    stage = name.partition("/")[0]
    assert {task.stage for task in tasks if task.dataset == "wave"} == set(STAGES[: STAGES.index(stage) + 1])
    assert {t.name for t in tasks if t.dataset == "flowers"} == {t.name for t in plan.datasets[1].tasks}


def test_an_earlier_failure_blocks_like_a_new_one(plan: Plan) -> None:
    failed = "weights/wave/regression/alignf/0-3"
    before = {task.name for stage in STAGES[:3] for task in plan.datasets[0].stages[stage]}
    again = ran(Schedule(plan.tasks, before, failed={failed}))
    assert [task for task in again if task.dataset == "wave" and task.method_key == WAVE] == []
    assert {task.method_key for task in again if task.dataset == "wave"} == set(plan.datasets[0].method_keys) - {WAVE}
    assert any(task.method_key == WAVE for task in ran(Schedule(plan.tasks, before)))


def test_parts_of_a_batch_that_are_sent_separately_have_different_names(plan: Plan) -> None:
    done = {task.name for task in plan.tasks if task.dataset != "wave" or task.stage in ("tiles", "reduce")}
    schedule = Schedule(plan.tasks, done)
    weights = take_all(schedule)
    for batch in weights[:2]:
        schedule.finish(batch)
    first = schedule.take(idle=True)
    for batch in weights[2:]:
        schedule.finish(batch)
    second = schedule.take()
    assert first is not None
    assert second is not None
    assert len(first) == len(second) == 2
    assert first[0].batch_key == second[0].batch_key
    assert batch_name(first) != batch_name(second)
