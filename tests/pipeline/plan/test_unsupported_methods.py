"""Methods that do not support a problem, a family or a number of kernels."""

from typing import Any

import pytest

from kernel_pipeline.errors import ConfigError
from kernel_pipeline.plan.methods import plan_methods
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.samples import make_targets
from kernel_pipeline.tasks.learners.align_krr import AlignKrr
from kernel_pipeline.tasks.learners.l2_krr import L2Krr
from kernel_pipeline.tasks.learners.linear import Linear
from kernel_pipeline.tasks.learners.majority import Majority
from kernel_pipeline.tasks.learners.mean import Mean
from kernel_pipeline.tasks.weights import method as methods
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.alignf_linear import AlignfLinear
from tests.helpers.build import parsed, synthetic_values
from tests.pipeline.plan.small_plans import RANK_ONE, plan_of


def test_a_method_that_does_not_support_a_dataset_is_left_out_with_one_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "MAX_KERNELS_WITH_M", 4)
    values = synthetic_values() | {"methods": ["unif", "l2-krr", "alignf-linear"]}
    values["dataset"] += [
        {**values["dataset"][0], "name": "sides", "task": "classification"},
        {**values["dataset"][0], "name": "columns", "kernels": RANK_ONE},
        {**values["dataset"][0], "name": "more-sides", "task": "classification"},
    ]
    plan = plan_of(parsed(values))
    chosen = {dataset.name: [method for _, method in dataset.method_keys] for dataset in plan.datasets}
    linear, both = ["unif", "alignf-linear"], ["unif", "l2-krr"]
    assert chosen == {"made": [*both, "alignf-linear"], "sides": linear, "columns": both, "more-sides": linear}
    assert [note for note in lines(plan.notes()) if "left out" in note] == [
        "note: l2-krr on sides (classification), more-sides (classification): "
        "left out, since it supports only regression",
        "note: alignf-linear on columns (regression): left out, since it needs a matrix of all pairs of kernels and "
        "supports at most 4 kernels; got 5",
    ]


def test_a_method_that_supports_no_dataset_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "MAX_KERNELS_WITH_M", 4)
    values = synthetic_values(kernels=RANK_ONE) | {"methods": ["unif", "alignf-linear"]}
    with pytest.raises(ConfigError, match=r"'alignf-linear' supports none of the datasets: it needs a matrix"):
        plan_of(parsed(values))


def of_three_classes(**changes: Any) -> Plan:
    values = synthetic_values() | {"methods": ["unif", "l1-svm"]} | changes
    flowers = {"name": "flowers", "task": "classification", "source": "sklearn", "id": "iris", "rows": 30}
    return plan_of(parsed(values | {"dataset": [{**flowers, "kernels": values["dataset"][0]["kernels"]}]}))


def test_a_method_for_two_classes_is_left_out_even_if_no_dataset_has_two() -> None:
    plan = of_three_classes()
    assert plan.datasets[0].method_keys == (("classification", "unif"),)
    left_out = [note for note in lines(plan.notes()) if "left out" in note]
    assert left_out == ["note: l1-svm on flowers (classification): left out, since it supports only two classes"]


def test_a_sweep_without_a_supported_method_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"'l1-svm' supports none of the datasets: it supports only two classes. Remove it"
    ):
        of_three_classes(methods=["l1-svm"])
    with pytest.raises(ConfigError, match=r"'l1-svm' supports none of the datasets"):  # baselines alone are not a sweep
        of_three_classes(methods=["l1-svm"], baselines=True)


def test_class_weights_are_for_classifications() -> None:
    values = synthetic_values() | {"methods": ["unif", "l2-krr"], "fit": {"class_weight": "balanced"}}
    values["dataset"].append({**values["dataset"][0], "name": "sides", "task": "classification"})
    regression, classification = plan_of(parsed(values)).datasets
    assert {task.class_weight for task in regression.of(FitTask)} == {None}
    assert {task.class_weight for task in classification.of(FitTask)} == {"balanced"}
    assert not any("class_weight" in note for note in lines(plan_of(parsed(values)).notes()))


def test_class_weights_without_a_classification_are_noted() -> None:
    values = synthetic_values() | {"fit": {"class_weight": "balanced"}}
    unused = "note: dataset 'made': [fit] class_weight = 'balanced' is not used"
    assert f"{unused}, since no dataset has the task 'classification'" in lines(plan_of(parsed(values)).notes())


def test_methods_that_need_all_products_are_for_5000_kernels_at_most() -> None:
    for rank_one in (True, False):
        for method in (AlignfLinear(), AlignKrr()):
            assert method.unsupported_reason("regression", 5000, rank_one) is None
            assert method.unsupported_reason("regression", 5001, rank_one) == (
                "it needs a matrix of all pairs of kernels and supports at most 5,000 kernels; got 5,001"
            )
        assert Alignf().unsupported_reason("regression", 10**6, rank_one) is None
        assert L2Krr().unsupported_reason("regression", 10**6, rank_one) is None


def test_a_linear_kernel_needs_features_and_a_baseline_of_the_other_problem_gets_no_note() -> None:
    targets = make_targets(["regression", "classification"])
    planned, unsupported = plan_methods(targets, [Linear(), Mean(), Majority()], 3, rank_one=False, features=0)
    assert [found.key for found in planned] == [("regression", "mean"), ("classification", "majority")]
    assert [(found.method, found.reason) for found in unsupported] == [("linear", "the dataset has no features")] * 2
    planned, unsupported = plan_methods(targets, [Linear()], 3, rank_one=True, features=4)
    assert (len(planned), unsupported) == (2, [])


def test_baselines_beyond_the_memory_of_a_fit_are_left_out_unless_they_are_listed() -> None:
    small = synthetic_values(rows=300) | {"baselines": True, "fit": {"memory": "96 KiB"}}
    (dataset,) = plan_of(parsed(small)).datasets
    assert [method for _, method in dataset.method_keys] == ["unif", "alignf", "linear", "mean"]  # 5 features are few
    (left_out,) = dataset.unsupported
    assert left_out.method == "best-single"
    assert left_out.reason == "a fit of 100 samples needs more than [fit] memory = '96 KiB' in one piece"
    (listed,) = plan_of(parsed(small | {"methods": ["unif", "each-kernel"]})).datasets
    assert ("regression", "best-single") in listed.method_keys


def test_fits_in_parts_have_no_final_fit() -> None:
    values = synthetic_values(rows=60) | {"fit": {"memory": "4 KiB", "refit": "train+validation"}}
    with pytest.raises(ConfigError, match=r"fit.refit = 'train\+validation' needs fits in one piece.*fit.memory="):
        plan_of(parsed(values))
