"""A simple script for a sweep over Gaussian kernels, which uses only numpy, scipy and scikit-learn.

    python -m tests.benchmarks.plain_sweep SAMPLES.npz

The file contains `features`, `fold`, `gammas`, and `target:PROBLEM` and `values:PROBLEM` for each problem, which is
regression or classification. Mean test errors are printed as lines `problem,method,error`. This module must not import
the package, because it also runs where the package is not installed.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

Floats = NDArray[np.float64]
METHODS = ("unif", "align", "alignf", "best-kernel")


def weights_of_methods(centered: Sequence[Floats], yc: Floats) -> dict[str, Floats]:
    """Return the weights of each two-stage method, given centered kernels and labels."""
    M = np.array([[np.sum(k * other) for other in centered] for k in centered])
    a = np.array([yc @ k @ yc for k in centered])
    root = np.linalg.cholesky(M + 1e-14 * np.trace(M) * np.eye(len(M))).T
    rho = a / np.sqrt(np.diag(M))
    found = {
        "unif": np.ones_like(a),
        "align": rho,
        "alignf": nnls(root, np.linalg.solve(root.T, a))[0],
        "best-kernel": (rho == rho.max()).astype(float),
    }
    return {method: weights / weights.sum() for method, weights in found.items()}


def combine(weights: Floats, kernels: Sequence[Floats]) -> Floats:
    """Return the weighted sum of kernels."""
    return np.asarray(sum(weight * kernel for weight, kernel in zip(weights, kernels, strict=True)))


def best_test_error(
    problem: str,
    inner: Floats,
    outer: Mapping[str, Floats],
    y: Floats,
    parts: Mapping[str, Any],
    values: Sequence[float],
) -> float:
    """Return the test error of the regularisation value with the smallest validation error."""
    best = (np.inf, np.inf)
    train, mean = parts["train"], y[parts["train"]].mean()
    for value in values:
        found = {}
        if problem == "regression":
            model = KernelRidge(alpha=value, kernel="precomputed").fit(inner, y[train] - mean)
            for name, kernel in outer.items():
                found[name] = float(np.sqrt(np.mean((model.predict(kernel) + mean - y[parts[name]]) ** 2)))
        else:
            model = SVC(C=value, kernel="precomputed").fit(inner, y[train])
            for name, kernel in outer.items():
                found[name] = float(np.mean(model.predict(kernel) != y[parts[name]]))
        if found["validation"] < best[0]:
            best = (found["validation"], found["test"])
    return best[1]


def mean_errors(
    grams: Sequence[Floats],
    targets: Mapping[str, Floats],
    fold: Any,
    values: Mapping[str, Sequence[float]],
    methods: Sequence[str],
) -> dict[tuple[str, str], float]:
    """Return the mean test error of each problem and method; each trial tests on one fold and validates on the next."""
    errors: dict[tuple[str, str], list[float]] = {}
    folds = int(fold.max()) + 1
    for trial in range(folds):
        parts = {"test": fold == trial, "validation": fold == (trial + 1) % folds}
        train = ~(parts["test"] | parts["validation"])
        centered: list[Floats] = []
        held_out: dict[str, list[Floats]] = {name: [] for name in parts}
        for gram in grams:
            centerer = KernelCenterer()
            inner = centerer.fit_transform(gram[np.ix_(train, train)])
            trace = np.trace(inner)
            centered.append(inner / trace)
            for name, part in parts.items():
                held_out[name].append(centerer.transform(gram[np.ix_(part, train)]) / trace)
        parts["train"] = train
        for problem, y in targets.items():
            weights = weights_of_methods(centered, y[train] - y[train].mean())
            for method in methods:
                inner = combine(weights[method], centered)
                outer = {name: combine(weights[method], kernels) for name, kernels in held_out.items()}
                error = best_test_error(problem, inner, outer, y, parts, values[problem])
                errors.setdefault((problem, method), []).append(error)
    return {key: float(np.mean(found)) for key, found in errors.items()}


def main() -> None:
    data = np.load(sys.argv[1])
    problems = [name.partition(":")[2] for name in data.files if name.startswith("target:")]
    found = mean_errors(
        [rbf_kernel(data["features"], gamma=gamma) for gamma in data["gammas"]],
        {problem: data[f"target:{problem}"] for problem in problems},
        data["fold"],
        {problem: data[f"values:{problem}"] for problem in problems},
        METHODS[:3],
    )
    for (problem, method), error in found.items():
        print(f"{problem},{method},{error!r}")


if __name__ == "__main__":
    main()
