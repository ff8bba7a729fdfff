import numpy as np
import pytest

from pipeline.plan import Plan
from pipeline.schedule import Schedule
from pipeline.task import STAGES, Task
from tests.run.sweeps import plan_in, small_config


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return plan_in(tmp_path_factory.mktemp("plan"), small_config())[0]


def drain(schedule: Schedule, rng: np.random.Generator) -> list[Task]:
    """Take and finish tasks in a random order until none is left; returns them in the order of finishing."""
    running: list[Task] = []
    finished: list[Task] = []
    while True:
        while (task := schedule.take()) is not None:
            running.append(task)
        if not running:
            return finished
        task = running.pop(int(rng.integers(len(running))))
        finished.append(task)
        schedule.finish(task)


@pytest.mark.parametrize("seed", range(5))
def test_every_task_runs_once_and_after_all_of_the_stage_before_it(plan: Plan, seed: int) -> None:
    order = drain(Schedule(plan, set()), np.random.default_rng(seed))
    assert len(order) == len({task.name for task in order}) == len(plan.tasks)
    for dataset in plan.datasets:
        stages = [STAGES.index(task.stage) for task in order if task.dataset == dataset.name]
        assert stages == sorted(stages)


def test_a_dataset_does_not_wait_for_another(plan: Plan) -> None:
    schedule = Schedule(plan, set())
    first: list[Task] = []
    while (task := schedule.take()) is not None:
        first.append(task)
    assert {task.dataset for task in first} == {"wave", "flowers"}
    for task in first:
        if task.dataset == "wave":
            schedule.finish(task)
    following = schedule.take()
    assert following is not None
    assert (following.dataset, following.stage) == ("wave", "reduce")


def test_what_is_done_is_not_taken_again(plan: Plan) -> None:
    everything = {task.name for task in plan.tasks}
    assert Schedule(plan, everything).take() is None
    missing = "weights/wave/regression/alignf/0-3"
    order = drain(Schedule(plan, everything - {missing}), np.random.default_rng(0))
    assert [task.name for task in order] == [missing]
