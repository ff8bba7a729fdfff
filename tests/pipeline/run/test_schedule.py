import numpy as np
import pytest

from kernel_pipeline.plan.failures import Failed, failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.schedule import Errand, Schedule
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import STAGES, Task
from kernel_pipeline.store.reports import Finished
from tests.helpers.sweeps import plan_in, small_config

WAVE = ("regression", "alignf")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_in(tmp_path_factory.mktemp("plan"), small_config())[0]


def drain(schedule: Schedule, rng: np.random.Generator, failing: str = "") -> list[Errand]:
    """Take and finish errands in a random order until none is left; returns them in the order of finishing."""
    running: list[Errand] = []
    finished: list[Errand] = []
    while True:
        while (errand := schedule.take()) is not None:
            running.append(errand)
        if not running:
            return finished
        done = running.pop(int(rng.integers(len(running))))
        finished.append(done)
        schedule.finish(done, failed=done[0].name == failing)


def ran(schedule: Schedule, failing: str = "") -> list[Task]:
    return [task for errand in drain(schedule, np.random.default_rng(0), failing) for task in errand]


def named(plan: Plan, name: str) -> Task:
    return next(task for task in plan.tasks if task.name == name)


@pytest.mark.parametrize("seed", range(5))
def test_every_task_runs_once_and_after_all_of_the_stage_before_it(plan: Plan, seed: int) -> None:
    order = [task for errand in drain(Schedule(plan, set()), np.random.default_rng(seed)) for task in errand]
    assert len(order) == len({task.name for task in order}) == len(plan.tasks)
    for dataset in plan.datasets:
        stages = [STAGES.index(task.stage) for task in order if task.dataset == dataset.name]
        assert stages == sorted(stages)


def test_a_dataset_does_not_wait_for_another(plan: Plan) -> None:
    schedule = Schedule(plan, set())
    first: list[Errand] = []
    while (errand := schedule.take()) is not None:
        first.append(errand)
    assert {errand[0].dataset for errand in first} == {"wave", "flowers"}
    for errand in first:
        if errand[0].dataset == "wave":
            schedule.finish(errand)
    following = schedule.take()
    assert following is not None
    assert [(task.dataset, task.stage) for task in following] == [("wave", "reduce")]


def test_tasks_of_an_errand_may_go_their_own_ways_and_all_are_waited_for(plan: Plan) -> None:
    done = {task.name for task in plan.tasks if task.dataset != "wave" or task.stage not in ("combine", "fits")}
    schedule = Schedule(plan, done)
    errand = schedule.take()
    assert errand is not None
    assert len(errand) == 4
    assert schedule.take() is None
    first, *others = schedule.split(errand)
    assert [first, *others] == [(task,) for task in errand]
    for alone in others:
        schedule.finish(alone)
    assert schedule.take() is None
    schedule.finish(first, failed=True)
    following = ran(schedule)
    assert {task.stage for task in following} == {"fits"}
    assert {task.cell for task in following} == {task.cell for (task,) in others}


def test_what_is_done_is_not_taken_again(plan: Plan) -> None:
    everything = {task.name for task in plan.tasks}
    assert Schedule(plan, everything).take() is None
    missing = "weights/wave/regression/alignf/0-3"
    assert [task.name for task in ran(Schedule(plan, everything - {missing}))] == [missing]


def test_the_tiles_of_all_methods_are_combined_in_one_errand(plan: Plan) -> None:
    errands = drain(Schedule(plan, set()), np.random.default_rng(0))
    together = {errand[0].errand: errand for errand in errands if isinstance(errand[0], CombineTask)}
    for dataset in plan.datasets:
        tasks = dataset.of(CombineTask)
        for number in {task.number for task in tasks}:
            errand = together.pop(f"combine/{dataset.name}/{number}")
            assert list(errand) == [task for task in tasks if task.number == number]
            assert {task.cell for task in errand} == set(dataset.cells)
    assert together == {}
    assert all(len(errand) == 1 for errand in errands if not isinstance(errand[0], CombineTask))


def test_an_errand_holds_only_what_is_left_of_it(plan: Plan) -> None:
    left = {"combine/wave/regression/align/0", "combine/wave/regression/unif/0"}
    (errand,) = drain(Schedule(plan, {task.name for task in plan.tasks} - left), np.random.default_rng(0))
    assert {task.name for task in errand} == left


def test_a_failed_task_of_one_cell_blocks_only_that_cell(plan: Plan) -> None:
    name = "weights/wave/regression/alignf/0-3"
    tasks = ran(Schedule(plan, set()), failing=name)
    never = {task.name for task in plan.tasks} - {task.name for task in tasks}
    behind = ("combine", "fits")
    assert never == {t.name for t in plan.tasks if (t.dataset, t.cell) == ("wave", WAVE) and t.stage in behind}
    assert len(never) == 1 + 4


@pytest.mark.parametrize("name", ["tiles/wave/0", "reduce/wave/regression"])
def test_a_failed_task_that_serves_all_cells_blocks_its_dataset_and_no_other(plan: Plan, name: str) -> None:
    tasks = ran(Schedule(plan, set()), failing=name)
    stage = name.partition("/")[0]
    assert {task.stage for task in tasks if task.dataset == "wave"} == set(STAGES[: STAGES.index(stage) + 1])
    assert {t.name for t in tasks if t.dataset == "flowers"} == {t.name for t in plan.datasets[1].tasks}


def test_what_was_set_aside_earlier_blocks_as_if_it_failed_now(plan: Plan) -> None:
    failed = "weights/wave/regression/alignf/0-3"
    before = {task.name for stage in STAGES[:3] for task in plan.datasets[0].stages[stage]}
    again = ran(Schedule(plan, before, set_aside={failed}))
    assert [task for task in again if task.dataset == "wave" and task.cell == WAVE] == []
    assert {task.cell for task in again if task.dataset == "wave"} == set(plan.datasets[0].cells) - {WAVE}
    assert any(task.cell == WAVE for task in ran(Schedule(plan, before)))


def test_a_fit_that_failed_blocks_nothing(plan: Plan) -> None:
    fit = named(plan, "fits/wave/regression/alignf/0")
    assert [task for task in plan.tasks if Failed([fit]).blocking(task)] == []


def test_of_several_that_failed_the_first_that_a_task_builds_on_is_named(plan: Plan) -> None:
    weights, tiles = named(plan, "weights/wave/regression/alignf/0-3"), named(plan, "tiles/wave/0")
    fit, other = named(plan, "fits/wave/regression/alignf/0"), named(plan, "fits/wave/regression/unif/0")
    failed = Failed([weights, tiles])
    assert [failed.blocking(task) for task in (fit, other, weights, tiles)] == [weights, tiles, tiles, None]


def test_what_is_blocked_says_what_it_waits_for(plan: Plan) -> None:
    wave = plan.datasets[0]
    failed = Finished("weights/wave/regression/alignf/0-3", "", {}, {}, 0.0, 0, failed="failed: it was too hot")
    done = {task.name: Finished(task.name, "", {}, {}, 0.0, 0) for task in wave.tasks if task.cell != WAVE}
    reasons = failures(wave, done | {failed.name: failed})
    assert reasons.pop(failed.name) == "failed: it was too hot"
    assert set(reasons) == {task.name for task in wave.tasks if task.cell == WAVE} - {failed.name}
    assert set(reasons.values()) == {f"{failed.name}: failed: it was too hot"}
    assert failures(wave, done) == {}
