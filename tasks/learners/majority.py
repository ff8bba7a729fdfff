"""`majority`: the most frequent class of the training set."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.reference import ConstantMethod
from kernel_pipeline.tasks.weights.method import register


@register
@dataclass(frozen=True)
class Majority(ConstantMethod):
    """Predict the most frequent class of the training set; ties go to +1, or to the first of more than two classes."""

    name: ClassVar[str] = "majority"
    is_baseline: ClassVar[bool] = True
    problems: ClassVar[tuple[str, ...]] = ("classification",)

    def prediction(self, target: Floats) -> Floats:
        if target.shape[1] == 1:
            return np.array([1.0 if target.sum() >= 0 else -1.0])
        counts = target.sum(axis=0)
        return np.asarray(np.arange(len(counts)) == counts.argmax(), dtype=np.float64)
