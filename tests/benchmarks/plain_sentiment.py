"""A simple script for the rank-one sweep, which uses only numpy, scipy and scikit-learn.

    python -m tests.benchmarks.plain_sentiment books DIR

One domain of the sentiment reviews, 4,000 bigrams: regression on the rating by unif, align and l2-krr, classification
by unif and align. Prints the mean test errors as lines `domain,task,method,error`. BLAS uses all cores.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import trials
from tests.benchmarks.sentiment_counts import FOLDS, count_bigrams

TOP = 4000
RIDGES = [2.0**e for e in range(-4, -15, -2)]  # for K_mu of trace one
CS = [2.0**e for e in range(-4, 19, 2)]
LAMBDAS = [2.0**e for e in range(1, 9)]
GAP = 1e-6


def l2_krr(X: Floats, y: Floats, ridge: float = 1.0) -> Iterator[tuple[Floats, Floats]]:
    """Yield weights and dual coefficients for each Lambda (Cortes, Mohri and Rostamizadeh 2009), with warm starts."""
    alpha = y / (1.0 + ridge)
    for bound in LAMBDAS:
        while True:
            v = (X.T @ alpha) ** 2
            mu = bound * v / float(np.linalg.norm(v))
            solved = scipy.linalg.solve(X * mu @ X.T + ridge * np.eye(len(y)), y, assume_a="pos")
            upper, lower = y @ solved, 2 * alpha @ y - ridge * alpha @ alpha - bound * np.linalg.norm(v)
            if upper - lower <= GAP * upper:
                break
            alpha = (alpha + solved) / 2
        yield mu, solved


def main() -> None:
    domain, folder = sys.argv[1:]
    counts, rating, fold = count_bigrams(Path(folder), domain, TOP)
    dense = counts.toarray()
    targets = {"regression": rating, "classification": np.where(rating >= 4, 1.0, -1.0)}
    errors: dict[tuple[str, str], list[float]] = {}
    for trial in trials(FOLDS):
        train = np.isin(fold, trial.train)
        parts = {"validation": fold == trial.validation, "test": fold == trial.test}
        centered = dense - dense[train].mean(axis=0)
        norms = np.linalg.norm(centered[train], axis=0)
        varies = norms > 1e-9
        scaled = centered[:, varies] / norms[varies]
        X = scaled[train]
        for task, target in targets.items():
            mean = target[train].mean()
            y = target[train] - mean
            for method, weights in {"unif": np.ones(X.shape[1]), "align": (X.T @ y) ** 2}.items():
                mu = weights / weights.sum()
                K = X * mu @ X.T
                held_out = {name: scaled[part] * mu @ X.T for name, part in parts.items()}
                found = []
                for value in RIDGES if task == "regression" else CS:
                    if task == "regression":
                        ridge = KernelRidge(alpha=value, kernel="precomputed").fit(K, y)
                        found.append([rmse(ridge.predict(held_out[p]) + mean, target[parts[p]]) for p in parts])
                    else:
                        svm = SVC(C=value, kernel="precomputed").fit(K, target[train])
                        found.append([np.mean(svm.predict(held_out[p]) != target[parts[p]]) for p in parts])
                errors.setdefault((task, method), []).append(best(found))
            if task == "regression":
                found = [
                    [rmse(scaled[part] * mu @ (X.T @ alpha) + mean, target[part]) for part in parts.values()]
                    for mu, alpha in l2_krr(X, y)
                ]
                errors.setdefault((task, "l2-krr"), []).append(best(found))
    for (task, method), values in errors.items():
        print(f"{domain},{task},{method},{float(np.mean(values))!r}")


def rmse(predicted: Floats, target: Floats) -> float:
    return float(np.sqrt(np.mean((predicted - target) ** 2)))


def best(found: list[list[float]]) -> float:
    """Return the test error of the smallest validation error; of equal ones, the first, which is most regularised."""
    return min(found, key=lambda errors: errors[0])[1]


if __name__ == "__main__":
    main()
