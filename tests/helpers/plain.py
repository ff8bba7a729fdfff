"""Compute the expected results of a run from whole matrices with numpy and scikit-learn, without the pipeline."""

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
    """The kernels of one trial, centered and scaled to trace one on the training set; constant kernels are 0."""

    task: str
    y: Floats
    """(m,), or (m, columns) for several outputs and for more than two classes."""
    train: Booleans
    validation: Booleans
    test: Booleans
    raw: Floats
    """(p, n, n): the kernels of the training samples, neither centered nor scaled."""
    kernels: Floats
    """(p, m, n): all samples against the training samples."""
    trace: Floats
    test_kernels: Floats
    """(p, q, q): the scaled kernels of the test fold, centered on the test fold."""
    class_weight: str | None = None

    @property
    def yc(self) -> Floats:
        y = self.y[self.train]
        return np.asarray(y - y.mean(axis=0))

    @property
    def inner(self) -> Floats:
        """(p, n, n): the centered and scaled kernels of the training samples."""
        return self.kernels[:, self.train]

    @property
    def a(self) -> Floats:
        block = as_block(self.yc)
        return np.asarray(np.einsum("ij,kij->k", block @ block.T, self.inner))

    @property
    def products(self) -> Floats:
        flat = self.inner.reshape(len(self.inner), -1)
        return np.asarray(flat @ flat.T)

    def alignments(self) -> Floats:
        return np.array([aligned(kernel, self.y[self.train]) for kernel in self.inner])

    def test_alignments(self) -> Floats:
        return np.array([aligned(kernel, self.y[self.test]) for kernel in self.test_kernels])

    def uncentered_alignments(self) -> Floats:
        block = as_block(self.y[self.train])
        labels = block @ block.T
        norms = [np.linalg.norm(kernel) * np.linalg.norm(labels) for kernel in self.raw]
        return np.array([np.vdot(kernel, labels) / norm for kernel, norm in zip(self.raw, norms, strict=True)])

    def combined(self, mu: Floats) -> Floats:
        """Return the combined kernel, (m, n); if a weight is negative, only its positive part."""
        kernel = np.tensordot(mu, self.kernels, 1)
        if (mu < 0).any():
            values, vectors = np.linalg.eigh(kernel[self.train])
            kept = vectors[:, values > 0]
            kernel = kernel @ kept @ kept.T
        return np.asarray(kernel)

    def alignment(self, mu: Floats, where: str) -> float:
        """Return the alignment on the "train" or "test" samples; if a weight is negative, that of the positive part."""
        return aligned(self._aligned_kernel(mu, where), self.y[getattr(self, where)])

    def debiased_alignment(self, mu: Floats, where: str) -> float:
        """Return the debiased alignment of the same kernel."""
        return debiased_aligned(self._aligned_kernel(mu, where), self.y[getattr(self, where)])

    def _aligned_kernel(self, mu: Floats, where: str) -> Floats:
        kernel = np.tensordot(mu, self.inner if where == "train" else self.test_kernels, 1)
        if (mu < 0).any():
            left, values, right = np.linalg.svd(kernel, hermitian=True)
            kernel = (left * values) @ (left.T + right) / 2  # (|K| + K) / 2
        return np.asarray(kernel)

    def fit(self, kernel: Floats, value: float) -> Errors:
        """Fit ridge regression or a support vector machine; `value` is the ridge or C."""
        if self.task == "regression":
            wrong = self.residuals(kernel, value) ** 2
            return Errors(*(float(np.sqrt(wrong[part].mean())) for part in (self.train, self.validation, self.test)))
        classes = self.y if self.y.ndim == 1 else self.y.argmax(axis=1)
        machine = SVC(C=value, kernel="precomputed", class_weight=self.class_weight)
        wrong = machine.fit(kernel[self.train], classes[self.train]).predict(kernel) != classes
        return Errors(*(float(wrong[part].mean()) for part in (self.train, self.validation, self.test)))

    def residuals(self, kernel: Floats, ridge: float) -> Floats:
        """Return the residuals of ridge regression for all samples and outputs."""
        model = KernelRidge(alpha=ridge, kernel="precomputed").fit(kernel[self.train], self.yc)
        return np.asarray(model.predict(kernel) + self.y[self.train].mean(axis=0) - self.y)

    def path(self, mu: Floats, values: list[float]) -> list[Errors]:
        kernel = self.combined(mu)
        return [self.fit(kernel, value) for value in values]


def aligned(kernel: Floats, labels: Floats) -> float:
    """Return the centered alignment with labels; NaN if the kernel or the labels are constant."""
    if np.ptp(labels) == 0:
        return float("nan")
    block = as_block(labels - labels.mean(axis=0))
    n, of_labels = len(block), block @ block.T
    U = np.eye(n) - 1.0 / n
    norm = np.linalg.norm(U @ kernel @ U)
    if not norm > 1e-13 * np.linalg.norm(kernel):
        return float("nan")
    return float(np.vdot(kernel, of_labels) / (norm * np.linalg.norm(of_labels)))


def debiased_aligned(kernel: Floats, labels: Floats) -> float:
    """Return the debiased alignment with labels; NaN if there are no pairs of samples over which both vary."""
    block = as_block(labels - labels.mean(axis=0))
    of_labels = block @ block.T
    squares = [u_statistic(matrix, matrix) for matrix in (kernel, of_labels)]
    sizes = [np.square(matrix - matrix.mean()).mean() for matrix in (kernel, of_labels)]
    if not all(square > 1e-11 * size for square, size in zip(squares, sizes, strict=True)):
        return float("nan")
    return float(u_statistic(kernel, of_labels) / np.sqrt(squares[0] * squares[1]))


def u_statistic(K: Floats, L: Floats) -> float:
    """Return the unbiased estimate of HSIC (Song et al. 2012, equation 5); NaN for fewer than four samples."""
    n = len(K)
    if n < 4:
        return float("nan")
    K, L = (matrix - np.diag(np.diag(matrix)) for matrix in (K, L))
    totals = K.sum() * L.sum() / ((n - 1) * (n - 2))
    return float((np.sum(K * L.T) + totals - 2 / (n - 2) * (K.sum(axis=0) @ L.sum(axis=1))) / (n * (n - 3)))


def as_block(labels: Floats) -> Floats:
    """Return labels with the shape (n, columns)."""
    return labels.reshape(len(labels), -1)


def gaussian_trial(
    samples: PreparedDataset, gammas: list[float], task: str, trial: int, folds: int, fixed_test: bool = False
) -> Trial:
    grams = np.array([rbf_kernel(samples.features, gamma=gamma) for gamma in gammas])
    return trial_of(samples, grams, task, trial, folds, fixed_test=fixed_test)


def rank_one_trial(samples: PreparedDataset, task: str, trial: int, folds: int, fixed_test: bool = False) -> Trial:
    columns = samples.features
    dense = columns.toarray() if isinstance(columns, scipy.sparse.csr_array) else columns
    return trial_of(samples, np.einsum("ik,jk->kij", dense, dense), task, trial, folds, dense, fixed_test=fixed_test)


def trial_of(
    samples: PreparedDataset,
    grams: Floats,
    task: str,
    trial: int,
    folds: int,
    columns: Floats | None = None,
    *,
    fixed_test: bool = False,
) -> Trial:
    """Return a trial of the given Gram matrices.

    If the feature columns of rank-one kernels are given, they are centered before they are multiplied, which preserves
    the precision of large values.
    """
    held_out = [folds, trial] if fixed_test else [trial, (trial + 1) % folds]
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
