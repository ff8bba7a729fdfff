"""Methods: the open set of rules that determine the weights `mu` of the base kernels.

A method is a frozen dataclass in a module of its own that registers itself with `register`. Its fields are its
parameters (see `kernel_pipeline.tasks.parameters`), and its class attributes say what it can be used for. It derives
from one of three kinds: `WeightRule`, `OneStageMethod` (in `kernel_pipeline.tasks.learners.one_stage`) or
`SingleKernelMethod`. To make a method part of the package, add its module to the tuple below.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.registry import Registry
from kernel_pipeline.tasks.weights.evidence import Evidence

PROBLEMS = ("regression", "classification")
# M of 5,000 kernels has 200 MB.
MAX_KERNELS_WITH_M = 5000


@dataclass(frozen=True)
class Grid:
    """Default of a grid of parameter values 2 ** (start..stop) of a one-stage method.

    Parameters
    ----------
    start, stop, step
        Exponents: the least, the greatest (included) and the difference between two of them.
    description
        Meaning of the values, for the schema of configs.
    name
        Key of the grid in the method's table of a config; empty for the only grid of a method.
    descending
        Whether the largest value comes first. The values of the last grid of a method, which vary fastest, must go
        from the most to the least regularised.
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
    """Name in configs."""
    problems: ClassVar[tuple[str, ...]] = PROBLEMS
    """Problems that the method supports."""
    needs_m: ClassVar[bool] = False
    """Whether it forms the p x p matrix M, which limits the number of kernels."""
    gives_weights: ClassVar[bool] = True
    """Whether its cells have weights, and so rows in the tables."""
    grids: ClassVar[tuple[Grid, ...]] = ()
    """Default grids of a method that has regularisation parameters of its own."""
    preload: ClassVar[tuple[str, ...]] = ()
    """Modules that take long to import, to be imported while workers start."""
    version: ClassVar[int] = 1
    """Raised when the algorithm changes its results, so that existing runs recompute them."""

    @property
    def method_id(self) -> str:
        """Name in tables and arrays: the method's name and the parameters that are set.

        A method whose parameters are not numbers overrides it; letters, digits and . _ - are allowed.
        """
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        return "-".join(
            [self.name, *(f"{name}{str(value).removesuffix('.0')}" for name, value in values if value is not None)]
        )

    def unsupported_reason(self, problem: str, n_kernels: int, rank_one: bool) -> str | None:
        """Return why the method cannot be used for a problem of a dataset; None if it can.

        Parameters
        ----------
        rank_one
            Whether the base kernels are of rank one.
        """
        if problem not in self.problems:
            return f"it is for {' and '.join(self.problems)}"
        if self.needs_m and n_kernels > MAX_KERNELS_WITH_M:
            return f"it needs a matrix of {n_kernels:,} x {n_kernels:,}; {MAX_KERNELS_WITH_M:,} kernels at most"
        return None


class WeightRule(Method):
    """A two-stage method: weights from alignment statistics, then a fit of the combined kernel."""

    @abstractmethod
    def weights(self, evidence: Evidence) -> tuple[Floats, float]:
        """Determine the weights of the trace-one kernels.

        Returns
        -------
        weights, certificate
            Weights whose absolute values sum to one, so that `K_mu` has trace one where none is negative; and how far
            they are from solving the rule's own problem, 0 for a closed form.

        Raises
        ------
        NoWeightsError, NotSolvedError
            If there are no such weights, or they are not found.
        """


class SingleKernelMethod(Method):
    """A method that fits base kernels one at a time; it gives no weights."""

    gives_weights: ClassVar[bool] = False

    def unsupported_reason(self, problem: str, n_kernels: int, rank_one: bool) -> str | None:
        """Return why the method cannot be used for a problem of a dataset; None if it can."""
        if rank_one:
            return "a rank-one kernel alone is a single feature"
        return super().unsupported_reason(problem, n_kernels, rank_one)


METHODS: Registry[type[Method]] = Registry(
    "method",
    (
        "kernel_pipeline.tasks.weights.unif",
        "kernel_pipeline.tasks.weights.align",
        "kernel_pipeline.tasks.weights.alignf",
        "kernel_pipeline.tasks.weights.alignf_linear",
        "kernel_pipeline.tasks.weights.best_kernel",
        "kernel_pipeline.tasks.learners.l1_svm",
        "kernel_pipeline.tasks.learners.l2_krr",
        "kernel_pipeline.tasks.learners.align_krr",
        "kernel_pipeline.tasks.learners.each_kernel",
    ),
)

M = TypeVar("M", bound=Method)


def register(method: type[M]) -> type[M]:
    """Register a method under its name; to be used as a class decorator."""
    METHODS.register(method.name)(method)
    return method
