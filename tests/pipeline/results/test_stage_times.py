"""Times of stages are sums over their tasks, measured and estimated."""

import pytest

from kernel_pipeline.plan.estimates import task_times
from kernel_pipeline.results.stage_times import stage_times
from kernel_pipeline.results.view import Results
from tests.helpers.drawn import context_of
from tests.pipeline.results.conftest import Drawn


def test_measured_and_estimated_times_are_summed_by_stage(drawn: Drawn) -> None:
    root, plan, finished = drawn
    found = {time.stage: time for time in stage_times(Results(context_of(root, plan, finished)))}
    estimates = task_times(plan)
    assert list(found) == list(dict.fromkeys(task.stage for task in plan.tasks))
    for stage, time in found.items():
        names = [task.name for task in plan.tasks if task.stage == stage]
        assert time.tasks == len(names)
        assert time.seconds == pytest.approx(sum(finished[name].seconds for name in names), abs=1e-5 * len(names))
        assert time.estimated == pytest.approx(sum(estimates[name].seconds for name in names))
