"""The registry of named entries, with built-in modules that are imported when it is first read."""

import subprocess
import sys
from types import ModuleType

import pytest

from kernel_pipeline.tasks.registry import Registry
from kernel_pipeline.tasks.weights.method import METHODS

BUILT_IN = [
    *("unif", "align", "alignf", "alignf-linear", "alignf-plus", "alignf-ridge", "hsic", "best-kernel"),
    *("l1-svm", "l2-krr", "align-krr", "each-kernel", "best-single", "linear", "majority", "mean"),
]


@pytest.mark.parametrize("first", ["weights.method", "learners.l1_svm", "weights.best_kernel"])
def test_built_in_entries_have_the_same_order_whatever_is_imported_first(first: str) -> None:
    code = (
        f"import kernel_pipeline.tasks.{first}\n"
        "from kernel_pipeline.tasks.weights.method import METHODS\n"
        "METHODS.register('other')(METHODS)\n"
        "print(*METHODS)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*BUILT_IN, "other"]


def test_only_weight_rules_without_negative_weights_can_be_fitted_in_parts() -> None:
    in_parts = [name for name, method in METHODS.items() if method().can_fit_in_parts]
    assert in_parts == ["unif", "align", "alignf", "alignf-plus", "alignf-ridge", "hsic", "best-kernel"]


def test_a_name_is_registered_once() -> None:
    registry: Registry[object] = Registry("thing")
    entry = object()
    registry.register("a")(entry)
    registry.register("a")(entry)
    with pytest.raises(ValueError, match="there is already a thing 'a'"):
        registry.register("a")(object())
    registry.unregister("a")
    assert list(registry) == []


def test_entries_that_are_registered_before_the_first_read_follow_the_built_in_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry: Registry[object] = Registry("thing", ("built_in_things",))
    module = ModuleType("built_in_things")
    monkeypatch.setitem(sys.modules, "built_in_things", module)

    class Late:
        pass

    class BuiltIn:
        __module__ = "built_in_things"

    registry.register("late")(Late)
    registry.register("built-in")(BuiltIn)
    assert list(registry) == ["built-in", "late"]
    assert len(registry) == 2
    assert registry.unknown_message("lat") == "there is no thing 'lat'. Available: built-in, late. Did you mean 'late'?"
