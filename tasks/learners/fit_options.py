"""Define the options that all fits of a cell share, regardless of their kernel."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FitOptions:
    """Regularisation values of a path, and options for fitting, evaluating and choosing its fits."""

    values: Sequence[float] = ()
    """Regularisation values, from the most to the least regularised; empty for a method without any."""
    metrics: Sequence[str] = ()
    """Names of the metrics to evaluate at the best value."""
    metric: str = ""
    """Name of the metric by which the best value is chosen; empty for the primary metric of the problem."""
    class_weight: str | None = None
    """Weights of the classes of a support vector machine: None for equal ones, or "balanced"."""

    @property
    def path(self) -> list[tuple[float, ...]]:
        """Return the parameters of each fit.

        >>> FitOptions([4, 1]).path
        [(4.0,), (1.0,)]
        """
        return [(float(value),) for value in self.values]
