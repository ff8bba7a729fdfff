"""Methods that do not support a problem, a family or a number of kernels."""

import pytest

from kernel_pipeline.errors import ConfigError
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.tasks.learners.align_krr import AlignKrr
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.alignf_linear import AlignfLinear
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import RANK_ONE, plan_of


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
