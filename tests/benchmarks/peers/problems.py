"""Data and measures of quality that several peers share; only numpy is needed."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.peers.peer import Arrays, Size

Floats = NDArray[np.float64]
FEATURES, TESTED = 10, 1000
NOISE = 0.3
FOLDS = 5
# Exponents of the largest width of Gaussians; the features are standard normal, so most distances are around 20.
LARGEST_LOG2_GAMMA = {7: -1, 20: 5}


def samples(size: Size) -> Arrays:
    """Return training and test samples with a smooth nonlinear target, its sign, and folds for cross-validation."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((size.n + TESTED, FEATURES))
    signal = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] * X[:, 2] + 0.4 * (X[:, 3] ** 2 - 1) + 0.3 * X[:, 4]
    y = signal + NOISE * rng.standard_normal(len(X))
    labels = np.where(y > 0, 1, -1)
    train, test = slice(0, size.n), slice(size.n, None)
    return {
        "X": X[train],
        "y": y[train],
        "labels": labels[train],
        "X_test": X[test],
        "y_test": y[test],
        "labels_test": labels[test],
        "fold": rng.permutation(size.n) % FOLDS,
        "log2_gamma": log2_gammas(size.p),
    }


def log2_gammas(p: int) -> NDArray[np.int64]:
    """Return the exponents of p Gaussian kernels; one kernel is close to the median heuristic."""
    largest = LARGEST_LOG2_GAMMA.get(p, -4 + p // 2)
    return np.arange(largest - p + 1, largest + 1)


def gaussian_entry(data: Arrays) -> dict[str, object]:
    """Return the kernels as an entry of our configs."""
    exponents = data["log2_gamma"]
    return {"family": "gaussian", "log2_gamma": [int(exponents[0]), int(exponents[-1])]}


def splits(fold: NDArray[np.int64]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the training and test samples of each fold."""
    return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in range(int(fold.max()) + 1)]


def dense_statistics(data: Arrays) -> Arrays:
    """Return M, a and the traces of the centered Gaussian kernels, from whole Gram matrices."""
    X, yc = data["X"], data["labels"] - data["labels"].mean()
    squares = (X**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0.0)
    np.fill_diagonal(distances, 0.0)
    kernels = []
    for exponent in data["log2_gamma"]:
        kernel = np.exp(-(2.0**exponent) * distances)
        kernel -= kernel.mean(axis=0)
        kernel -= kernel.mean(axis=1)[:, None]
        kernels.append(kernel)
    flat = np.array([kernel.ravel() for kernel in kernels])
    return {
        "M": flat @ flat.T,
        "a": np.array([yc @ kernel @ yc for kernel in kernels]),
        "trace": np.array([np.trace(kernel) for kernel in kernels]),
        "label_norm": np.array(yc @ yc),
    }


def alignment(data: Arrays, weights: Floats) -> float:
    """Return the centered alignment of a weighted sum of kernels with the labels."""
    return float(weights @ data["a"] / np.sqrt(weights @ data["M"] @ weights) / data["label_norm"])


def unit_norms(M: Floats, a: Floats) -> tuple[Floats, Floats]:
    """Return M and a of the kernels scaled to norm one, with the largest entry of a equal to one."""
    norms = np.sqrt(np.diag(M))
    scaled = a / norms
    return M / np.outer(norms, norms), scaled / scaled.max()


def kkt_violation(M: Floats, a: Floats, v: Floats) -> float:
    """Return the largest violation of the KKT conditions of `min_{v >= 0} v'Mv - 2 v'a`, relative to max|a|."""
    gradient = M @ v - a
    violations = np.where(v > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
    return float(max(violations.max(), -v.min()) / np.abs(a).max())


def rmse(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    """Return the root mean squared error on the test samples."""
    return {"test RMSE": float(np.sqrt(np.mean((answer["predicted"] - data["y_test"]) ** 2)))}


def error_rate(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    """Return the share of test samples with a wrong class."""
    return {"test error": float(np.mean(answer["predicted"] != data["labels_test"]))}
