"""Which methods a dataset uses for which problem."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pipeline.stages.samples import Target
from kernel_pipeline.tasks.weights.method import Method


@dataclass(frozen=True)
class PlannedMethod:
    """A method that is used for one target of a dataset, in all trials."""

    target: Target
    method: Method

    @property
    def cell(self) -> tuple[str, str]:
        """Problem and name of the method, as in tables and arrays."""
        return self.target.problem, self.method.method_id


@dataclass(frozen=True)
class UnsupportedMethod:
    """A method that is left out for one problem of a dataset."""

    problem: str
    method: str
    reason: str


def plan_methods(
    targets: Sequence[Target], methods: Sequence[Method], n_kernels: int, rank_one: bool
) -> tuple[list[PlannedMethod], list[UnsupportedMethod]]:
    """Pair each target with the methods that support it; list those that do not with the reason."""
    planned, unsupported = [], []
    for target in targets:
        for method in methods:
            reason = method.unsupported_reason(target.problem, n_kernels, rank_one)
            if reason:
                unsupported.append(UnsupportedMethod(target.problem, method.method_id, reason))
            else:
                planned.append(PlannedMethod(target, method))
    return planned, unsupported
