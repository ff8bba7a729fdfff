"""TorchKM on the CPU: support vector machines with cross-validation over 50 values, as in its published comparison.

That comparison uses n = 10,000 samples, 10 folds and 50 values of lambda from 1e3 to 1e-3, with C = 1 / (2 n lambda).
"""

from collections.abc import Mapping
from importlib import import_module

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import FEATURES, TESTED, error_rate, splits

CLUSTERS, SHIFT, SPREAD, FOLDS = 5, 2.0, 3.0, 10
LAMBDAS = np.logspace(3, -3, 50)
GAMMA = 2.0**-4
# Its authors advise against the default of 1,000, with which the solver stops early.
ITERATIONS = 100_000


def data(size: Size) -> Arrays:
    """Return standardised samples of a mixture: each class has five centers, shifted in one half of the features."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((2, CLUSTERS, FEATURES))
    half = FEATURES // 2
    centers[0, :, :half] += SHIFT
    centers[1, :, half:] += SHIFT
    m = size.n + TESTED
    classes, clusters = rng.integers(0, 2, m), rng.integers(0, CLUSTERS, m)
    X = centers[classes, clusters] + SPREAD * rng.standard_normal((m, FEATURES))
    X, labels = (X - X[: size.n].mean(axis=0)) / X[: size.n].std(axis=0), 2 * classes - 1
    train, test = slice(0, size.n), slice(size.n, None)
    return {
        "X": X[train],
        "labels": labels[train],
        "X_test": X[test],
        "labels_test": labels[test],
        "fold": rng.permutation(size.n) % FOLDS,
    }


def ours(data: Arrays) -> Call:
    from kernel_pipeline.estimators.classifier import AlignedKernelClassifier

    def run() -> Arrays:
        # C of a kernel of trace one is n times that of a kernel with ones on its diagonal.
        costs = (1 / (2 * LAMBDAS)).tolist()
        kernels = [{"family": "gaussian", "log2_gamma": [int(np.log2(GAMMA))] * 2}]
        model = AlignedKernelClassifier("unif", kernels=kernels, C=costs, cv=splits(data["fold"]))
        model.fit(data["X"], data["labels"])
        assert model.cv_errors_ is not None
        return {"predicted": model.predict(data["X_test"]), "cv": np.array(model.cv_errors_.min())}

    return run


def svc(data: Arrays) -> Call:
    estimators = import_module("torchkm.estimators")

    def run() -> Arrays:
        costs = 1 / (2 * len(data["X"]) * LAMBDAS)
        model = estimators.TorchKMSVC(
            kernel="rbf",
            rbf_sigma=GAMMA / 2,  # its kernel is exp(-2 sigma |x - z|^2)
            Cs=costs,
            nC=len(costs),
            cv=FOLDS,
            foldid=data["fold"] + 1,
            device="cpu",
            max_iter=ITERATIONS,
        )
        model.fit(data["X"], data["labels"])
        return {"predicted": model.predict(data["X_test"]).astype(int), "cv": np.array(model.cv_mis_.min())}

    return run


def score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    return {**error_rate(data, answer), "cross-validated error": float(answer["cv"])}


PEER = Peer(
    name="TorchKM",
    package="torchkm",
    requirements=("torch==2.13.0", "torchkm[sklearn]==4.3.2"),
    problems=(
        Problem(
            title="SVM, one kernel, 50 values of C, 10 folds",
            sizes=(Size(1000, 1), Size(2000, 1), Size(10000, 1)),
            data=data,
            score=score,
            programs=(
                Program("ours: `AlignedKernelClassifier`", ours, is_ours=True),
                Program("TorchKM {version} on the CPU", svc),
            ),
        ),
    ),
)
