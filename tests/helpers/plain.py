"""What a run should find, computed from whole matrices with numpy and scikit-learn; nothing of the pipeline is used."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from kernel_pipeline.data.prepared import PreparedDataset

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Errors:
    """The errors of one fit."""

    train: float
    validation: float
    test: float


@dataclass(frozen=True)
class Trial:
    """The kernels of one trial, centered and of trace one on the training set; 0 for a constant one."""

    task: str
    y: Floats
    train: Booleans
    validation: Booleans
    test: Booleans
    raw: Floats
    """(p, n, n): the training part of the kernels as they are."""
    kernels: Floats
    """(p, m, n): all samples against the training samples."""
    trace: Floats
    test_kernels: Floats
    """(p, q, q): the kernels of trace one, centered on the test fold instead."""

    @property
    def yc(self) -> Floats:
        y = self.y[self.train]
        return np.asarray(y - y.mean())

    @property
    def inner(self) -> Floats:
        """(p, n, n): the training part."""
        return self.kernels[:, self.train]

    @property
    def a(self) -> Floats:
        return np.asarray(np.einsum("i,kij,j->k", self.yc, self.inner, self.yc))

    @property
    def products(self) -> Floats:
        flat = self.inner.reshape(len(self.inner), -1)
        return np.asarray(flat @ flat.T)

    def alignments(self) -> Floats:
        return np.array([aligned(kernel, self.y[self.train]) for kernel in self.inner])

    def test_alignments(self) -> Floats:
        return np.array([aligned(kernel, self.y[self.test]) for kernel in self.test_kernels])

    def uncentered_alignments(self) -> Floats:
        y = self.y[self.train]
        return np.array([y @ kernel @ y / (np.linalg.norm(kernel) * (y @ y)) for kernel in self.raw])

    def combined(self, mu: Floats) -> Floats:
        """(m, n); where weights are negative, without its negative directions."""
        kernel = np.tensordot(mu, self.kernels, 1)
        if (mu < 0).any():
            values, vectors = np.linalg.eigh(kernel[self.train])
            kept = vectors[:, values > 0]
            kernel = kernel @ kept @ kept.T
        return np.asarray(kernel)

    def alignment(self, mu: Floats, where: str) -> float:
        """On the "train" samples or the "test" fold; of the positive part where weights are negative."""
        kernel = np.tensordot(mu, self.inner if where == "train" else self.test_kernels, 1)
        if (mu < 0).any():
            left, values, right = np.linalg.svd(kernel, hermitian=True)
            kernel = (left * values) @ (left.T + right) / 2  # (|K| + K) / 2
        return aligned(kernel, self.y[getattr(self, where)])

    def fit(self, kernel: Floats, value: float) -> Errors:
        """Fit ridge regression with a ridge, or a support vector machine with a C."""
        y, train = self.y, self.train
        if self.task == "regression":
            ridge = KernelRidge(alpha=value, kernel="precomputed").fit(kernel[train], self.yc)
            wrong = (ridge.predict(kernel) + y[train].mean() - y) ** 2
            return Errors(*(float(np.sqrt(wrong[part].mean())) for part in (train, self.validation, self.test)))
        machine = SVC(C=value, kernel="precomputed").fit(kernel[train], y[train])
        wrong = machine.predict(kernel) != y
        return Errors(*(float(wrong[part].mean()) for part in (train, self.validation, self.test)))

    def path(self, mu: Floats, values: list[float]) -> list[Errors]:
        kernel = self.combined(mu)
        return [self.fit(kernel, value) for value in values]


def aligned(kernel: Floats, labels: Floats) -> float:
    """Centered alignment with labels; NaN where the kernel or the labels are constant."""
    if np.ptp(labels) == 0:
        return float("nan")
    yc = labels - labels.mean()
    n = len(yc)
    U = np.eye(n) - 1.0 / n
    norm = np.linalg.norm(U @ kernel @ U) * (yc @ yc)
    return float(yc @ kernel @ yc / norm) if norm > 1e-13 * np.linalg.norm(kernel) * (yc @ yc) else float("nan")


def gaussian_trial(samples: PreparedDataset, gammas: list[float], task: str, trial: int, folds: int) -> Trial:
    return _trial(
        samples, np.array([rbf_kernel(samples.features, gamma=gamma) for gamma in gammas]), task, trial, folds
    )


def rank_one_trial(samples: PreparedDataset, task: str, trial: int, folds: int) -> Trial:
    columns = samples.features
    dense = columns.toarray() if isinstance(columns, scipy.sparse.csr_array) else columns
    return _trial(samples, np.einsum("ik,jk->kij", dense, dense), task, trial, folds, dense)


def _trial(
    samples: PreparedDataset, grams: Floats, task: str, trial: int, folds: int, columns: Floats | None = None
) -> Trial:
    """With columns, these are centered before they are multiplied, which keeps the digits of large ones."""
    held_out = [trial, (trial + 1) % folds]
    train = ~np.isin(samples.fold, held_out)
    test, validation = (samples.fold == fold for fold in held_out)
    kernels = np.zeros((len(grams), len(train), int(train.sum())))
    test_kernels = np.zeros((len(grams), int(test.sum()), int(test.sum())))
    traces = np.zeros(len(grams))
    for k, gram in enumerate(grams):
        if np.ptp(gram[np.ix_(train, train)] if columns is None else columns[train, k]) == 0:
            continue
        if columns is None:
            means = gram[:, train].mean(axis=1)
            centered = gram[:, train] - means[:, None] - means[train] + means[train].mean()
            rows = gram[np.ix_(test, test)]
            inside = rows - rows.mean(axis=0) - rows.mean(axis=1)[:, None] + rows.mean()
        else:
            v = columns[:, k] - columns[train, k].mean()
            w = columns[test, k] - columns[test, k].mean()
            centered, inside = np.outer(v, v[train]), np.outer(w, w)
        traces[k] = np.trace(centered[train])
        kernels[k], test_kernels[k] = centered / traces[k], inside / traces[k]
    raw = grams[:, train][:, :, train]
    return Trial(task, samples.targets[task], train, validation, test, raw, kernels, traces, test_kernels)
