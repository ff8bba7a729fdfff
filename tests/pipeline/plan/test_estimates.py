"""Times of stages, and the remaining time of a run, from synthetic times of tasks."""

import math
import time
from dataclasses import astuple

import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.events import RunningBatch
from kernel_pipeline.plan import calibration
from kernel_pipeline.plan.estimates import RemainingTime, TaskTime, stage_seconds, task_times
from kernel_pipeline.plan.work import Rates
from kernel_pipeline.stages.panel_fits import LargeRidgesTask, RidgeGroupsResult
from kernel_pipeline.store.json_text import dump_json
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.tasks.learners.ridge_cost import divide_ridges, expected_tail
from tests.pipeline.plan.small_plans import plan_of, small

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
    remaining.add_finished("tiles/0", 2.0)  # twice as slow as estimated
    assert remaining.seconds(1) == pytest.approx(2.0 * 33.0)
    remaining.add_finished("fits/0", 5.0)  # twice as fast
    assert remaining.seconds(1) == pytest.approx(2.0 * 3.0 + 0.5 * 20.0)
    assert remaining.seconds(2) == pytest.approx(16.0 / 2)
    assert remaining.seconds(100) == pytest.approx(16.0 / 2)  # two tasks are left
    remaining.add_finished("tiles/1", 6.0)
    remaining.add_finished("fits/1", 10.0)
    assert remaining.seconds(1) == 0.0


def test_a_stage_without_finished_tasks_is_scaled_by_the_others() -> None:
    remaining = RemainingTime(TIMES | {"reduce/0": TaskTime("reduce", 2.0)}, ["reduce/0"])
    remaining.add_finished("tiles/0", 3.0)
    remaining.add_finished("fits/0", 19.0)
    assert remaining.seconds(1) == pytest.approx(2.0 * 22.0 / 11.0)


def test_the_time_of_running_tasks_is_subtracted_but_some_of_it_is_left() -> None:
    remaining = RemainingTime({name: TaskTime("fits", 10.0) for name in "abcd"}, "abcd")
    remaining.set_running([RunningBatch(("b",), 5.0)])
    assert remaining.seconds(1) is None
    remaining.add_finished("a", 100.0)
    assert remaining.seconds(1) == pytest.approx(300.0 - 5.0)
    remaining.set_running([RunningBatch(("b", "c"), 80.0), RunningBatch(("a",), 50.0), RunningBatch(("foreign",), 9.0)])
    assert remaining.seconds(1) == pytest.approx(300.0 - 80.0)
    assert remaining.seconds(2) == pytest.approx(220.0 / 2)
    remaining.set_running([RunningBatch(("b",), 95.0)])
    assert remaining.seconds(1) == pytest.approx(200.0 + 9.5)
    remaining.set_running([RunningBatch(("b",), 400.0)])
    assert remaining.seconds(1) == pytest.approx(200.0 + 40.0), "it takes longer than expected"
    remaining.add_finished("b", 100.0)
    assert remaining.seconds(1) == pytest.approx(200.0)


def test_the_time_of_a_running_task_on_all_workers_is_not_divided_again() -> None:
    times = {name: TaskTime("fits", 80.0, spreads=True) for name in "abc"}
    remaining = RemainingTime(times, times)
    remaining.add_finished("a", 30.0)  # with all workers
    remaining.set_running([RunningBatch(("b",), 20.0)])
    assert remaining.seconds(4) == pytest.approx(10.0 + 30.0)


def test_tasks_that_an_open_ended_task_requests_are_expected_until_they_are_known() -> None:
    times = {"large/0": TaskTime("fits", 1.0, requested=9.0), "large/1": TaskTime("fits", 1.0, requested=9.0)}
    assert stage_seconds(times.values(), 2) == {"fits": 10.0}
    remaining = RemainingTime(times, times)
    remaining.add_requested({"group/0": TaskTime("fits", 6.0)})
    remaining.add_finished("large/0", 2.0)
    assert remaining.seconds(1) == pytest.approx(2.0 * (6.0 + 10.0))
    remaining.add_requested({"group/0": TaskTime("fits", 6.0)})  # is already known
    remaining.add_finished("group/0", 12.0)
    assert remaining.seconds(1) == pytest.approx(2.0 * 10.0)


def test_tasks_that_use_all_workers_are_not_divided_again() -> None:
    times = {name: TaskTime("fits", 8.0, spreads=True) for name in "abc"} | {"tiles": TaskTime("tiles", 4.0)}
    assert stage_seconds(times.values(), 4) == {"tiles": 4.0, "fits": 6.0}
    remaining = RemainingTime(times, times)
    remaining.add_finished("tiles", 4.0)  # as estimated, on one worker
    assert remaining.seconds(4) == pytest.approx(24.0 / 4)
    remaining.add_finished("a", 3.0)  # with all workers
    assert remaining.seconds(4) == pytest.approx(2 * 3.0)


def test_groups_of_small_ridges_are_part_of_the_estimate() -> None:
    values = {
        "name": "parts",
        "baselines": False,
        "methods": ["unif"],
        "fit": {"krr": {"from": -30, "to": 0, "step": 2}, "memory": "1 GiB"},
        "storage": {"gram": "recompute"},
        "dataset": [
            {"name": "made", "source": "synthetic", "task": "regression", "rows": 20_000, "features": 5}
            | {"kernels": [{"family": "gaussian", "log2_gamma": [-3, 3]}]}
        ],
    }
    plan = plan_of(parse_config(values, "a test"))
    (large, *_) = [task for task in plan.tasks if isinstance(task, LargeRidgesTask)]
    planned = task_times(plan)[large.name]
    groups = divide_ridges(12_000, sorted(large.values, reverse=True), 1, expected_tail(12_000)).factorised
    report = TaskReport(task=large.name, result_json=dump_json(RidgeGroupsResult(groups).to_json()))
    known = task_times(plan, finished={large.name: report})
    requested = [time.seconds for name, time in known.items() if name not in task_times(plan)]
    assert len(requested) == len(groups) > 0
    assert known[large.name].requested == 0.0
    assert planned.requested == pytest.approx(sum(requested), rel=0.01)
    assert planned.spreads


def test_failed_and_unplanned_tasks_are_not_measured() -> None:
    remaining = RemainingTime(TIMES, TIMES)
    remaining.add_finished("fits/0", 0.0, "failed: why")
    remaining.add_finished("solver/17", 1000.0)
    assert remaining.seconds(1) is None
    remaining.add_finished("tiles/0", 1.0)
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


def test_other_programs_do_not_slow_down_the_measured_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "SECONDS_PER_RATE", 0.0)
    assert calibration._fastest(lambda: time.sleep(0.2)) < 0.1  # the core is free for others in the meantime
