"""The script that a researcher writes in an afternoon: the Gaussian sweep with numpy, scipy and scikit-learn alone.

It takes the same samples, folds, kernels and grids as the pipeline and its two-stage methods, and prints the mean test
errors as lines `dataset,task,method,error`.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.optimize import nnls
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from kernel_pipeline.config.loading import read_config
from kernel_pipeline.data.prepared import load_samples
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily


def main() -> None:
    config, _ = read_config(sys.argv[1])
    known = ("unif", "align", "alignf", "best-kernel")
    methods = [method.method_id for method in config.methods if method.method_id in known]
    for dataset in config.dataset:
        samples = load_samples(config, dataset, Path(sys.argv[2]))
        (task,) = dataset.task
        y, fold, folds = samples.targets[task], samples.fold, config.protocol.folds
        grams = []
        for family in dataset.kernels:
            assert isinstance(family, GaussianFamily)
            grams += [rbf_kernel(np.asarray(samples.features), gamma=gamma) for gamma in family.gammas()]
        errors: dict[str, list[float]] = {}
        for t in range(folds):
            parts = {"test": fold == t, "validation": fold == (t + 1) % folds}
            train = ~(parts["test"] | parts["validation"])
            centered = []
            held_out: dict[str, list[Floats]] = {name: [] for name in parts}
            for gram in grams:
                centerer = KernelCenterer()
                inner = centerer.fit_transform(gram[np.ix_(train, train)])
                trace = np.trace(inner)
                centered.append(inner / trace)
                for name, part in parts.items():
                    held_out[name].append(centerer.transform(gram[np.ix_(part, train)]) / trace)
            yc = y[train] - y[train].mean()
            M = np.array([[np.sum(k * other) for other in centered] for k in centered])
            a = np.array([yc @ k @ yc for k in centered])
            root = np.linalg.cholesky(M + 1e-14 * np.trace(M) * np.eye(len(M))).T
            rho = a / np.sqrt(np.diag(M))
            rules = {
                "unif": np.ones_like(a),
                "align": rho,
                "alignf": nnls(root, np.linalg.solve(root.T, a))[0],
                "best-kernel": (rho == rho.max()).astype(float),
            }
            for method in methods:
                mu = rules[method] / rules[method].sum()
                inner = sum(m * k for m, k in zip(mu, centered, strict=True))
                outer = {name: sum(m * k for m, k in zip(mu, held_out[name], strict=True)) for name in parts}
                best = (np.inf, np.inf)
                for (value,) in config.fit.path(task):
                    if task == "regression":
                        model = KernelRidge(alpha=value, kernel="precomputed").fit(inner, yc)
                        found = {
                            name: np.sqrt(np.mean((model.predict(outer[name]) + y[train].mean() - y[part]) ** 2))
                            for name, part in parts.items()
                        }
                    else:
                        model = SVC(C=value, kernel="precomputed").fit(inner, y[train])
                        found = {name: np.mean(model.predict(outer[name]) != y[part]) for name, part in parts.items()}
                    if found["validation"] < best[0]:
                        best = (found["validation"], found["test"])
                errors.setdefault(method, []).append(best[1])
        for name, found_errors in errors.items():
            print(f"{dataset.name},{task},{name},{float(np.mean(found_errors))!r}")


if __name__ == "__main__":
    main()
