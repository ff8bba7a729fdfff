"""Times of stages, and the remaining time of a run, from synthetic times of tasks."""

import math
from dataclasses import astuple

import pytest

from kernel_pipeline.plan import calibration
from kernel_pipeline.plan.estimates import RemainingTime, TaskTime, stage_seconds, task_times
from kernel_pipeline.plan.work import Rates
from kernel_pipeline.store.reports import TaskReport
from tests.pipeline.plan.small_plans import small

TIMES = {
    "tiles/0": TaskTime("tiles", 1.0),
    "tiles/1": TaskTime("tiles", 3.0),
    "fits/0": TaskTime("fits", 10.0),
    "fits/1": TaskTime("fits", 20.0),
}


def test_stages_are_divided_among_workers_but_tasks_are_not() -> None:
    assert stage_seconds(TIMES.values(), 1) == {"tiles": 4.0, "fits": 30.0}
    assert stage_seconds(TIMES.values(), 2) == {"tiles": 3.0, "fits": 20.0}
    assert list(stage_seconds(reversed(TIMES.values()), 1)) == ["tiles", "fits"]


def test_the_remaining_time_is_unknown_before_the_first_task_is_finished() -> None:
    assert RemainingTime(TIMES, TIMES).seconds(1) is None


def test_a_stage_is_scaled_by_its_own_tasks_and_otherwise_by_all() -> None:
    remaining = RemainingTime(TIMES, TIMES)
    remaining.finish("tiles/0", 2.0)  # twice as slow as estimated
    assert remaining.seconds(1) == pytest.approx(2.0 * 33.0)
    remaining.finish("fits/0", 5.0)  # twice as fast
    assert remaining.seconds(1) == pytest.approx(2.0 * 3.0 + 0.5 * 20.0)
    assert remaining.seconds(2) == pytest.approx(16.0 / 2)
    assert remaining.seconds(100) == pytest.approx(16.0 / 2)  # two tasks are left
    remaining.finish("tiles/1", 6.0)
    remaining.finish("fits/1", 10.0)
    assert remaining.seconds(1) == 0.0


def test_a_stage_without_finished_tasks_is_scaled_by_the_others() -> None:
    remaining = RemainingTime(TIMES | {"reduce/0": TaskTime("reduce", 2.0)}, ["reduce/0"])
    remaining.finish("tiles/0", 3.0)
    remaining.finish("fits/0", 19.0)
    assert remaining.seconds(1) == pytest.approx(2.0 * 22.0 / 11.0)


def test_failed_and_unplanned_tasks_are_not_measured() -> None:
    remaining = RemainingTime(TIMES, TIMES)
    remaining.finish("fits/0", 0.0, "failed: why")
    remaining.finish("solver/17", 1000.0)
    assert remaining.seconds(1) is None
    remaining.finish("tiles/0", 1.0)
    assert remaining.seconds(1) == pytest.approx(3.0 + 20.0)


def test_a_resumed_run_uses_the_times_of_its_finished_tasks() -> None:
    plan = small()
    names = [task.name for task in plan.tasks]
    times = task_times(plan)
    assert list(times) == names
    finished = {name: TaskReport(task=name, seconds=3.0 * times[name].seconds) for name in names[:-2]}
    remaining = RemainingTime.of(plan, finished, names[-2:])
    assert remaining.seconds(1) == pytest.approx(3.0 * sum(times[name].seconds for name in names[-2:]))


def test_a_machine_that_is_slower_takes_longer() -> None:
    plan = small()
    fast, slow = (task_times(plan, Rates(*([rate] * 3))) for rate in (1e9, 1e6))
    assert all(slow[name].seconds > fast[name].seconds for name in fast)


def test_the_plan_does_not_depend_on_the_speed_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SECONDS_PER_RATE", 0.0)
    before = [task.identity for task in small().tasks]
    rates = calibration.measure_rates()
    assert all(math.isfinite(rate) and rate > 0 for rate in astuple(rates))
    assert [task.identity for task in small().tasks] == before
