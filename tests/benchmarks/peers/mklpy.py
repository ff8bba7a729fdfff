"""MKLpy: centered kernel alignment with weights of any sign (CKA), and EasyMKL."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Call, Peer, Problem, Program, Size
from tests.benchmarks.peers.problems import (
    alignment,
    dense_statistics,
    error_rate,
    gaussian_entry,
    kkt_violation,
    samples,
)

SIZES = (Size(1000, 7), Size(3000, 7), Size(1000, 20), Size(2000, 20))
# Regularisation of the support vector machines, for kernels whose diagonal has the mean one.
COST = 1.0
MAX_VIOLATION = 1e-9


def data(size: Size) -> Arrays:
    made = samples(size)
    return made | dense_statistics(made)


def _kernel_lists(data: Arrays) -> Any:
    """Return a function of two sample matrices that computes all kernels as tensors."""
    torch, pairwise = import_module("torch"), import_module("MKLpy.metrics.pairwise")

    def kernels(first: Any, second: Any) -> list[Any]:
        pair = torch.tensor(first), torch.tensor(second)
        return [pairwise.rbf_kernel(*pair, gamma=2.0**exponent) for exponent in data["log2_gamma"].tolist()]

    return kernels


def cka(data: Arrays) -> Call:
    torch, algorithms, kernels = import_module("torch"), import_module("MKLpy.algorithms"), _kernel_lists(data)

    def run() -> Arrays:
        found = algorithms.CKA().combine_kernels(kernels(data["X"], data["X"]), torch.tensor(data["labels"]))
        return {"weights": found.weights.numpy()}

    return run


def easy_mkl(data: Arrays) -> Call:
    torch, algorithms, kernels = import_module("torch"), import_module("MKLpy.algorithms"), _kernel_lists(data)
    svm = import_module("sklearn.svm")

    def run() -> Arrays:
        model = algorithms.EasyMKL(lam=0.1, learner=svm.SVC(C=COST))
        model.fit(kernels(data["X"], data["X"]), torch.tensor(data["labels"]))
        predicted = np.asarray(model.predict(kernels(data["X_test"], data["X"])))
        return {"weights": model.solution.weights.numpy(), "predicted": predicted}

    return run


def our_alignf(data: Arrays) -> Call:
    import osqp  # noqa: F401 - the package imports it when it is first needed

    from kernel_pipeline.estimators.functions import alignf, alignment_statistics

    def run() -> Arrays:
        found = alignment_statistics(data["X"], data["labels"], [gaussian_entry(data)], task="classification")
        weights, _ = alignf(found.M, found.a)
        return {"weights": weights / found.trace.to_numpy()}

    return run


def our_alignf_linear(data: Arrays) -> Call:
    from kernel_pipeline.estimators.functions import alignment_statistics
    from kernel_pipeline.tasks.statistics.statistics import Statistics
    from kernel_pipeline.tasks.weights.alignf_linear import AlignfLinear
    from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics

    def run() -> Arrays:
        found = alignment_statistics(data["X"], data["labels"], [gaussian_entry(data)], task="classification")
        trace = found.trace.to_numpy()
        statistics = Statistics(found.M.to_numpy(), found.a.to_numpy(), np.ones(len(trace)), 1.0)
        return {"weights": AlignfLinear().weights(GramStatistics(statistics))[0] / trace}

    return run


def our_classifier(data: Arrays) -> Call:
    import osqp  # noqa: F401 - the package imports it when it is first needed

    from kernel_pipeline.estimators.classifier import AlignedKernelClassifier

    def run() -> Arrays:
        model = AlignedKernelClassifier("alignf", kernels=[gaussian_entry(data)], C=COST * len(data["X"]))
        model.fit(data["X"], data["labels"])
        return {"weights": model.weights_.to_numpy() / data["trace"], "predicted": model.predict(data["X_test"])}

    return run


def weights_score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    """Compare weights, for kernels of trace one, with the nonnegative weights of the largest alignment."""
    from kernel_pipeline.estimators.functions import alignf

    traces = data["trace"]
    M, a = data["M"] / np.outer(traces, traces), data["a"] / traces
    best, _ = alignf(M, a)
    length = best @ a / (best @ M @ best)
    violation = kkt_violation(M, a, length * best)
    if violation > MAX_VIOLATION:
        raise ValueError(f"the reference violates the KKT conditions by {violation:.1e}")
    scaled = answer["weights"] * traces
    cosine = scaled @ best / np.linalg.norm(scaled) / np.linalg.norm(best)
    negative = np.abs(scaled[scaled < 0]).sum() / np.abs(scaled).sum()
    return {"alignment": alignment(data, scaled / traces), "cosine": cosine, "negative part": negative}


def classifier_score(data: Arrays, answer: Arrays) -> Mapping[str, float]:
    return {**error_rate(data, answer), "alignment": alignment(data, answer["weights"])}


PEER = Peer(
    name="MKLpy",
    package="MKLpy",
    requirements=("torch==2.13.0", "MKLpy==0.6"),
    problems=(
        Problem(
            title="weights that maximise the alignment, from features",
            sizes=SIZES,
            data=data,
            score=weights_score,
            programs=(
                Program("ours: `alignf`, weights >= 0", our_alignf, is_ours=True),
                Program("ours: `alignf-linear`, any sign", our_alignf_linear, is_ours=True),
                Program("MKLpy {version} `CKA`, any sign", cka),
            ),
        ),
        Problem(
            title="weights and SVM (C = 1), 1,000 predictions",
            sizes=SIZES,
            data=data,
            score=classifier_score,
            programs=(
                Program("ours: `AlignedKernelClassifier`", our_classifier, is_ours=True),
                Program("MKLpy {version} `EasyMKL`", easy_mkl),
            ),
        ),
    ),
)
