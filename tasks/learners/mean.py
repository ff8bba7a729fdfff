"""`mean`: the mean of the training labels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.reference import ConstantMethod
from kernel_pipeline.tasks.weights.method import register


@register
@dataclass(frozen=True)
class Mean(ConstantMethod):
    """Predict the mean of the training labels, for each output."""

    name: ClassVar[str] = "mean"
    is_baseline: ClassVar[bool] = True
    problems: ClassVar[tuple[str, ...]] = ("regression",)

    def prediction(self, target: Floats) -> Floats:
        return np.asarray(target.mean(axis=0))
