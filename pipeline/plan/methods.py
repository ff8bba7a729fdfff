"""Determine the methods that are used for each problem of a dataset."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.stages.samples import Target, make_targets
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.learners.each_kernel import EachKernel
from kernel_pipeline.tasks.metrics import METRICS, evaluated_metrics
from kernel_pipeline.tasks.weights.method import Method


@dataclass(frozen=True)
class PlannedMethod:
    """A method that is used for one target of a dataset, in all trials."""

    target: Target
    method: Method

    @property
    def key(self) -> tuple[str, str]:
        """Return the problem and the name of the method, as in tables and arrays."""
        return self.target.problem, self.method.method_id


@dataclass(frozen=True)
class UnsupportedMethod:
    """A method that is left out for one problem of a dataset."""

    problem: str
    method: str
    reason: str
    is_for_fewer_labels: bool = False
    """Whether the reason is the number of classes or outputs, which the config does not determine."""


def dataset_targets(problems: Sequence[str], info: DatasetInfo) -> tuple[Target, ...]:
    """Return the targets of a dataset: each problem with its block of label columns."""
    return make_targets(problems, [info.label_columns(problem) for problem in problems])


def plan_methods(
    targets: Sequence[Target], methods: Sequence[Method], n_kernels: int, rank_one: bool, features: int = 1
) -> tuple[list[PlannedMethod], list[UnsupportedMethod]]:
    """Pair each target with the methods that support it, and return the other methods with a reason.

    Parameters
    ----------
    features
        Number of features of the dataset; 0 if it has only precomputed kernels.
    """
    planned, unsupported = [], []
    for target in targets:
        for method in methods:
            reason = method.unsupported_reason(target.problem, n_kernels, rank_one)
            if method.reads_features and not features:
                reason = "the dataset has no features"
            if method.is_baseline and target.problem not in method.problems:
                continue  # another baseline is for this problem
            if reason:
                unsupported.append(UnsupportedMethod(target.problem, method.method_id, reason))
            elif len(target.columns) > 1 and not method.several_labels:
                reason = f"it supports only {'two classes' if target.problem == 'classification' else 'one output'}"
                unsupported.append(UnsupportedMethod(target.problem, method.method_id, reason, True))
            else:
                planned.append(PlannedMethod(target, method))
    return planned, unsupported


def single_kernel_problems(methods: Sequence[PlannedMethod]) -> tuple[str, ...]:
    """Return the problems for which a predictor is fitted with each base kernel separately."""
    found = (planned.target.problem for planned in methods if planned.method.fits_each_kernel)
    return tuple(dict.fromkeys(found))


def with_shared_fits(methods: Sequence[PlannedMethod]) -> list[PlannedMethod]:
    """Return the methods, with `each-kernel` before those that use its fits; it is added if it is not listed."""
    found: dict[PlannedMethod, None] = {}
    for planned in methods:
        if planned.method.fits_each_kernel:
            found.setdefault(PlannedMethod(planned.target, EachKernel()))
        found.setdefault(planned)
    return list(found)


def check_metric(config: Config, infos: Sequence[DatasetInfo]) -> None:
    """Raise a `ConfigError` if the chosen metric supports only two classes, and a dataset has more."""
    name = config.fit.metric
    if name is None or not METRICS[name].two_classes_only:
        return
    for dataset, info in zip(config.dataset, infos, strict=True):
        if "classification" in dataset.task and len(info.classes) > 2:
            others = [metric.name for metric in evaluated_metrics("classification", len(info.classes))]
            raise ConfigError(
                f"fit.metric = {name!r} supports only two classes, but dataset {info.name!r} has {len(info.classes)}. "
                f"Choose one of {', '.join(others)}, or leave the dataset out"
            )


def max_predictions(methods: Sequence[PlannedMethod], fit: Fit) -> int:
    """Return the largest number of predictions per sample of a path: label columns times regularisation values."""
    return max(
        (len(planned.target.columns) * len(fit.path(planned.target.problem, planned.method)) for planned in methods),
        default=0,
    )
