"""Datasets that a method supports."""

import pytest

from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.method import METHODS, Method
from tests.helpers.build import changed, config_values, parsed, synthetic_values
from tests.pipeline.config.full_config import FULL, message


def test_messages_about_a_table_do_not_list_the_allowed_names() -> None:
    """A message about a table describes the mistake inside it, not the names allowed instead of a table."""
    assert "'unif'" not in message(changed(FULL, ("methods", 0, "q"), 0.5))
    assert "'onehot'" not in message(config_values(encode={"A": "x"}))


@pytest.mark.parametrize(
    ("method", "wanted", "learned"),
    [
        ("l1-svm", "classification", "regression"),
        ("l2-krr", "regression", "classification"),
        ("align-krr", "regression", "classification"),
    ],
)
def test_a_one_stage_method_needs_a_dataset_with_its_task(method: str, wanted: str, learned: str) -> None:
    values = synthetic_values(task=learned) | {"methods": ["unif", method]}
    text = message(values)
    assert f"methods: {method!r} is for {wanted}, but the datasets have only the task {learned}" in text
    assert "remove the method, or change the task of a dataset" in text
    # One dataset with the task is enough.
    values["dataset"].append({**values["dataset"][0], "name": "second", "task": wanted})
    assert [entry.method_id for entry in parsed(values).methods] == ["unif", method]


@pytest.mark.parametrize(
    ("method", "task", "kernels", "rank_one", "reason"),
    [
        ("l1-svm", "regression", 2, False, "it supports only classification"),
        ("l2-krr", "classification", 2, False, "it supports only regression"),
        ("alignf-linear", "regression", 5001, True, "supports at most 5,000 kernels; got 5,001"),
        ("align-krr", "regression", 5001, True, "it needs a matrix of all pairs of kernels"),
        ("l1-svm", "classification", 5001, True, "None"),
        ("l2-krr", "regression", 5001, True, "None"),
        ("align-krr", "regression", 5000, True, "None"),
        ("each-kernel", "regression", 9, False, "None"),
        ("best-single", "regression", 5001, True, "None"),
        ("majority", "regression", 2, False, "it supports only classification"),
        (Align(3.0), "classification", 5001, True, "None"),
    ],
)
def test_why_a_method_is_left_out(method: str | Method, task: str, kernels: int, rank_one: bool, reason: str) -> None:
    method = METHODS[method]() if isinstance(method, str) else method
    assert reason in str(method.unsupported_reason(task, kernels, rank_one))


def test_a_classifier_without_class_weights_is_refused_if_they_are_set() -> None:
    values = synthetic_values(task="classification") | {"methods": ["unif", "l1-svm"]}
    text = message(values | {"fit": {"class_weight": "balanced"}})
    assert "fit.class_weight = 'balanced': 'l1-svm' does not support class weights" in text
    assert "remove the method, or remove class_weight" in text
    assert parsed(values | {"methods": ["unif"], "fit": {"class_weight": "balanced"}}).fit.class_weight == "balanced"
    # Methods for regression have no classes to weight.
    assert parsed(synthetic_values() | {"methods": ["l2-krr"], "fit": {"class_weight": "balanced"}})
