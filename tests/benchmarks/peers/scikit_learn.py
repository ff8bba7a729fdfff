"""scikit-learn: `GridSearchCV` over one precomputed kernel, with `KernelRidge` and `SVC`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import error_rate, gaussian_entry, rmse, samples, splits

SIZES = (Size(1000, 1), Size(3000, 1))
# For a kernel of trace one, as powers of two. scikit-learn gets them for the trace of its kernel.
RIDGES, COSTS = np.arange(-30, 1, 2), np.arange(-4, 19, 2)
Grid = Callable[[float], dict[str, Any]]


def _search(data: Arrays, learner: Any, grid: Grid, target: str) -> Call:
    """Return a search over a grid, which is given as a function of the trace of the centered kernel."""
    selection, pairwise = import_module("sklearn.model_selection"), import_module("sklearn.metrics.pairwise")
    pipeline, preprocessing = import_module("sklearn.pipeline"), import_module("sklearn.preprocessing")
    gamma = 2.0 ** data["log2_gamma"][0]

    def run() -> Arrays:
        kernel = pairwise.rbf_kernel(data["X"], gamma=gamma)
        model = pipeline.make_pipeline(preprocessing.KernelCenterer(), learner)
        search = selection.GridSearchCV(
            model, grid(np.trace(kernel) - len(kernel) * kernel.mean()), cv=splits(data["fold"])
        )
        mean = data["y"].mean() if target == "y" else 0
        search.fit(kernel, data[target] - mean)
        return {"predicted": search.predict(pairwise.rbf_kernel(data["X_test"], data["X"], gamma=gamma)) + mean}

    return run


def kernel_ridge(data: Arrays) -> Call:
    learner = import_module("sklearn.kernel_ridge").KernelRidge(kernel="precomputed")
    # The most regularised value first: the first one of equal scores is chosen, as in our package.
    return _search(data, learner, lambda trace: {"kernelridge__alpha": 2.0 ** RIDGES[::-1] * trace}, "y")


def svc(data: Arrays) -> Call:
    learner = import_module("sklearn.svm").SVC(kernel="precomputed")
    return _search(data, learner, lambda trace: {"svc__C": 2.0**COSTS / trace}, "labels")


def our_ridge(data: Arrays) -> Call:
    from kernel_pipeline.estimators.regressor import AlignedKernelRegressor

    def run() -> Arrays:
        model = AlignedKernelRegressor(
            "unif", alpha=(2.0**RIDGES).tolist(), kernels=[gaussian_entry(data)], cv=splits(data["fold"])
        )
        return {"predicted": model.fit(data["X"], data["y"]).predict(data["X_test"])}

    return run


def our_svm(data: Arrays) -> Call:
    from kernel_pipeline.estimators.classifier import AlignedKernelClassifier

    def run() -> Arrays:
        model = AlignedKernelClassifier(
            "unif", C=(2.0**COSTS).tolist(), kernels=[gaussian_entry(data)], cv=splits(data["fold"])
        )
        return {"predicted": model.fit(data["X"], data["labels"]).predict(data["X_test"])}

    return run


PEER = Peer(
    name="scikit-learn",
    package="scikit-learn",
    requirements=("scikit-learn",),
    problems=(
        Problem(
            title="ridge regression, one kernel, 16 ridges, 5 folds",
            sizes=SIZES,
            data=samples,
            score=rmse,
            programs=(
                Program("ours: `AlignedKernelRegressor`", our_ridge, is_ours=True),
                Program("scikit-learn {version} `GridSearchCV`, `KernelRidge`", kernel_ridge),
            ),
        ),
        Problem(
            title="SVM, one kernel, 12 values of C, 5 folds",
            sizes=SIZES,
            data=samples,
            score=error_rate,
            programs=(
                Program("ours: `AlignedKernelClassifier`", our_svm, is_ours=True),
                Program("scikit-learn {version} `GridSearchCV`, `SVC`", svc),
            ),
        ),
    ),
)
