"""Problems of support vector machines, and the references against which fits are compared."""

from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC

from tests.tasks.dense import Floats


@dataclass(frozen=True)
class Problem:
    kernel: Floats
    target: Floats
    held_out: Floats

    @property
    def labels(self) -> Floats:
        return np.asarray(self.target[:, 0])


def of_features(features: Floats, target: Floats, train: int, gammas: tuple[float, ...]) -> Problem:
    """Return a mean of Gaussians, centered and of trace one on the first samples; the others are held out."""
    squares = (features**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[:train] - 2 * features @ features[:train].T, 0.0)
    kernel = np.mean([np.exp(-gamma * distances) for gamma in gammas], axis=0)
    means = kernel[:train].mean(axis=0)
    kernel -= kernel.mean(axis=1)[:, None]
    kernel -= means - means.mean()
    kernel /= np.trace(kernel)
    return Problem((kernel[:train] + kernel[:train].T) / 2, target[:train], kernel[train:])


def two_classes(seed: int = 0, train: int = 300, held_out: int = 100) -> Problem:
    """Return two overlapping classes of different sizes."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(train + held_out, 4))
    target = np.where(features[:, 0] + 0.7 * rng.normal(size=len(features)) > 0.5, 1.0, -1.0)
    return of_features(features, target[:, None], train, (0.1, 0.4))


def exact_machine(problem: Problem, cost: float, class_weight: str | None = None) -> SVC:
    """Fit libsvm with a tolerance far below its default."""
    classes = problem.labels if problem.target.shape[1] == 1 else problem.target.argmax(axis=1)
    return SVC(C=cost, kernel="precomputed", tol=1e-8, class_weight=class_weight).fit(problem.kernel, classes)


def dual_variables(machine: SVC, samples: int) -> Floats:
    alpha = np.zeros(samples)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha
