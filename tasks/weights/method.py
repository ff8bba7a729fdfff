"""Define methods, which determine the weights `mu` of the base kernels, and their registry.

A method is a frozen dataclass in its own module that registers itself with `register`. Its fields are its
parameters (see `kernel_pipeline.tasks.parameters`), and its class attributes state where it can be used. It derives
from one of four base classes: `WeightRule`, `OneStageMethod` (in `kernel_pipeline.tasks.learners.one_stage`),
`SingleKernelMethod` or `ReferenceMethod` (in `kernel_pipeline.tasks.learners.reference`). To make a method part of the
package, add its module to `METHODS`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.registry import Registry
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics

PROBLEMS = ("regression", "classification")
# M of 5,000 kernels takes 200 MB.
MAX_KERNELS_WITH_M = 5000


@dataclass(frozen=True)
class Grid:
    """Default grid of parameter values 2 ** (start..stop) of a one-stage method.

    Parameters
    ----------
    start, stop, step
        Smallest and largest exponent (both included), and the difference between consecutive ones.
    description
        Meaning of the values, for the schema of configs.
    name
        Key of the grid in the method's table of a config; empty for the only grid of a method.
    descending
        Whether the largest value comes first. The values of the last grid of a method, which vary fastest, must be
        ordered from the most to the least regularised.
    """

    start: int
    stop: int
    step: int = 2
    description: str = ""
    name: str = ""
    descending: bool = False


@dataclass(frozen=True)
class Method(ABC):
    """One method with its parameters, which are the fields of its dataclass."""

    name: ClassVar[str]
    """Name of the method in configs."""
    problems: ClassVar[tuple[str, ...]] = PROBLEMS
    """Problems that the method supports."""
    needs_m: ClassVar[bool] = False
    """Whether the method forms the p x p matrix M, which limits the number of kernels."""
    gives_weights: ClassVar[bool] = True
    """Whether the cells of the method have weights of the base kernels."""
    has_rows: ClassVar[bool] = True
    """Whether the cells of the method have rows in the tables, and predictions."""
    reads_features: ClassVar[bool] = False
    """Whether it needs the features of the samples, which a dataset of precomputed kernels does not have."""
    is_regularised: ClassVar[bool] = True
    """Whether it has a regularisation path: its own grids, or that of the learner."""
    grids: ClassVar[tuple[Grid, ...]] = ()
    """Default grids of a method that has regularisation parameters of its own."""
    any_sign: ClassVar[bool] = False
    """Whether weights may be negative; the combined kernel is then replaced by its positive part."""
    reads_base_kernels: ClassVar[bool] = False
    """Whether a fit needs all base kernels at once."""
    fits_each_kernel: ClassVar[bool] = False
    """Whether the method fits all base kernels separately."""
    has_model: ClassVar[bool] = False
    """Whether models that predict new rows can be fitted with the method."""
    several_labels: ClassVar[bool] = True
    """Whether the method supports more than two classes and several outputs."""
    supports_class_weight: ClassVar[bool] = True
    """Whether its classifiers support `class_weight`."""
    preload: ClassVar[tuple[str, ...]] = ()
    """Modules that are slow to import, and are imported while workers start."""
    is_baseline: ClassVar[bool] = False
    """Whether the method is added to every sweep, unless its config has `baselines = false`."""
    version: ClassVar[int] = 1
    """Version of the algorithm, which is increased when its results change, so that existing runs recompute them."""

    @property
    def method_id(self) -> str:
        """Return the name in tables and arrays: the method's name and the parameters that are set.

        A method whose parameters are not numbers overrides this; letters, digits and . _ - are allowed.
        """
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "-".join(
            [self.name, *(f"{name}{str(value).removesuffix('.0')}" for name, value in values if value is not None)]
        )

    @property
    def can_fit_in_parts(self) -> bool:
        """Whether fits that exceed `[fit] memory` can be solved in parts."""
        return False

    def unsupported_reason(self, problem: str, n_kernels: int, rank_one: bool) -> str | None:
        """Return why the method cannot be used for a problem of a dataset; None if it can.

        Parameters
        ----------
        rank_one
            Whether the base kernels are of rank one.
        """
        if problem not in self.problems:
            return f"it supports only {' and '.join(self.problems)}"
        if self.needs_m and n_kernels > MAX_KERNELS_WITH_M:
            return (
                f"it needs a matrix of all pairs of kernels and supports at most {MAX_KERNELS_WITH_M:,} kernels; "
                f"got {n_kernels:,}"
            )
        return None


class WeightRule(Method):
    """A two-stage method: weights from alignment statistics, then a fit of the combined kernel."""

    has_model: ClassVar[bool] = True

    @property
    def can_fit_in_parts(self) -> bool:
        """Whether fits can be solved in parts.

        They cannot if weights may be negative, since the positive part of an indefinite kernel needs all its
        eigenvectors.
        """
        return not self.any_sign

    @abstractmethod
    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        """Determine the weights of the trace-one kernels.

        Returns
        -------
        weights, certificate
            Weights whose absolute values sum to one, so that `K_mu` has trace one if none is negative; and the residual
            of the problem that the rule solves, 0 for a closed form.

        Raises
        ------
        NoWeightsError, NotSolvedError
            If there are no such weights, or they were not found.
        """


class SingleKernelMethod(Method):
    """A method that fits all base kernels separately; if it has rows, they report the best kernel of each trial.

    All such methods of a sweep share the same fits.
    """

    fits_each_kernel: ClassVar[bool] = True


METHODS: Registry[type[Method]] = Registry(
    "method",
    (
        "kernel_pipeline.tasks.weights.unif",
        "kernel_pipeline.tasks.weights.align",
        "kernel_pipeline.tasks.weights.alignf",
        "kernel_pipeline.tasks.weights.alignf_linear",
        "kernel_pipeline.tasks.weights.alignf_plus",
        "kernel_pipeline.tasks.weights.alignf_ridge",
        "kernel_pipeline.tasks.weights.hsic",
        "kernel_pipeline.tasks.weights.best_kernel",
        "kernel_pipeline.tasks.learners.l1_svm",
        "kernel_pipeline.tasks.learners.l2_krr",
        "kernel_pipeline.tasks.learners.align_krr",
        "kernel_pipeline.tasks.learners.each_kernel",
        "kernel_pipeline.tasks.learners.best_single",
        "kernel_pipeline.tasks.learners.linear",
        "kernel_pipeline.tasks.learners.majority",
        "kernel_pipeline.tasks.learners.mean",
    ),
)

M = TypeVar("M", bound=Method)


def baseline_names() -> list[str]:
    """Return the names of the methods that are added to a sweep unless its config has `baselines = false`.

    >>> baseline_names()
    ['best-single', 'linear', 'majority', 'mean']
    """
    return [name for name, method in METHODS.items() if method.is_baseline]


def register(method: type[M]) -> type[M]:
    """Register a method under its name; to be used as a class decorator."""
    METHODS.register(method.name)(method)
    return method
