"""himalaya: ridge regression with several kernels, whose weights are chosen by cross-validation."""

from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import FOLDS, gaussian_entry, rmse, samples

# Ridges of a kernel of trace one, as powers of two; himalaya's kernels have the trace n.
EXPONENTS = np.arange(-30, 1, 2)
CANDIDATES = 20


def ours(data: Arrays) -> Call:
    import osqp  # noqa: F401 - the package imports it when it is first needed

    from kernel_pipeline.estimators.regressor import AlignedKernelRegressor

    def run() -> Arrays:
        ridges = (2.0**EXPONENTS).tolist()
        model = AlignedKernelRegressor("alignf", kernels=[gaussian_entry(data)], alpha=ridges, cv=FOLDS)
        return {"predicted": model.fit(data["X"], data["y"]).predict(data["X_test"])}

    return run


def _fit(data: Arrays, solver: str, options: dict[str, Any]) -> Call:
    kernel_ridge, pipeline = import_module("himalaya.kernel_ridge"), import_module("sklearn.pipeline")

    def run() -> Arrays:
        columns = slice(0, data["X"].shape[1])
        kernelizers = [
            (f"2^{exponent}", kernel_ridge.Kernelizer("rbf", {"gamma": 2.0**exponent}), columns)
            for exponent in data["log2_gamma"].tolist()
        ]
        model = kernel_ridge.MultipleKernelRidgeCV(
            kernels="precomputed",
            solver=solver,
            solver_params={"progress_bar": False, **options},
            fit_intercept=solver == "random_search",  # not implemented by the other solver
            cv=FOLDS,
            random_state=0,
        )
        whole = pipeline.make_pipeline(kernel_ridge.ColumnKernelizer(kernelizers), model)
        mean = data["y"].mean()
        return {"predicted": whole.fit(data["X"], data["y"] - mean).predict(data["X_test"]) + mean}

    return run


def random_search(data: Arrays) -> Call:
    return _fit(data, "random_search", {"n_iter": CANDIDATES, "alphas": 2.0**EXPONENTS * len(data["X"])})


def hyper_gradient(data: Arrays) -> Call:
    return _fit(data, "hyper_gradient", {})


PEER = Peer(
    name="himalaya",
    package="himalaya",
    requirements=("himalaya==0.4.11", "packaging"),  # it imports packaging without requiring it
    problems=(
        Problem(
            title="ridge regression, several kernels, 5 folds",
            sizes=(Size(1000, 7), Size(2000, 7)),
            data=samples,
            score=rmse,
            programs=(
                Program("ours: `AlignedKernelRegressor`, 16 ridges", ours, is_ours=True),
                Program(f"himalaya {{version}} random search, {CANDIDATES} x 16", random_search),
                Program("himalaya {version} hyper-gradient, defaults", hyper_gradient),
            ),
        ),
    ),
)
