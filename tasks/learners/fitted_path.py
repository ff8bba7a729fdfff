"""Define the result of a learner: the fits of a regularisation path, before they are evaluated."""

from collections.abc import Callable
from dataclasses import dataclass

from kernel_pipeline.tasks.arrays import Floats


@dataclass(frozen=True)
class FittedPath:
    """The fits of all values of a path, for one or several columns of labels."""

    train: Floats
    """Predictions of the training samples, (n, columns, values)."""
    predict: Callable[[Floats], Floats]
    """Function that returns predictions, (q, columns, values), given rows of the kernel, (q, n)."""
    certificates: Floats | None = None
    """Certificate of each fit, if the learner has one; NaN for a value without a fit."""
