"""One-stage methods with their own grids, as a user would write them: one file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.weights.method import Grid


@dataclass(frozen=True)
class EqualKrr(OneStageMethod):
    """Kernel ridge regression with equal weights; its grid is that of the ridge."""

    name: ClassVar[str] = "equal-krr"
    problems: ClassVar[tuple[str, ...]] = ("regression",)
    grids: ClassVar[tuple[Grid, ...]] = (Grid(-20, 0, 4, "ridges of equal-krr", descending=True),)
    max_certificate: ClassVar[float] = 1e-8

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        weights = np.full(kernels.count, 1.0 / kernels.count)
        mean, matrix = float(target.mean()), kernels.combined(weights)
        found = []
        for (ridge,) in values:
            coefficients = np.linalg.solve(matrix + ridge * np.eye(len(target)), target - mean)
            found.append(OneStageSolution(weights, coefficients.astype(np.float64), mean, 0.0))
        return found


@dataclass(frozen=True)
class ScaledKrr(EqualKrr):
    """Kernel ridge regression with equal weights, whose ridge is the product of two values, each with a grid."""

    name: ClassVar[str] = "scaled-krr"
    grids: ClassVar[tuple[Grid, ...]] = (
        Grid(0, 2, 2, "factor of the ridges of scaled-krr", "factor"),
        Grid(-8, 0, 4, "ridges of scaled-krr", "ridge", descending=True),
    )

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        return super().learn_path(kernels, target, [(factor * ridge,) for factor, ridge in values])
