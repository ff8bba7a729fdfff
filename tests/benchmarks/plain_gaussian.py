"""The plain script of `plain_sweep.py` on the datasets of a config.

It takes the same samples, folds, kernels and grids as the pipeline and its two-stage methods, and prints the mean test
errors as lines `dataset,task,method,error`.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from kernel_pipeline.config.loading import read_config
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from tests.benchmarks.plain_sweep import METHODS, mean_errors


def main() -> None:
    config, _ = read_config(sys.argv[1])
    methods = [method.method_id for method in config.methods if method.method_id in METHODS]
    for dataset in config.dataset:
        samples = prepare_dataset(config, dataset, Path(sys.argv[2]))
        grams = []
        for family in dataset.kernels:
            assert isinstance(family, GaussianFamily)
            grams += [rbf_kernel(np.asarray(samples.features), gamma=gamma) for gamma in family.gammas()]
        values: dict[str, list[float]] = {task: [value for (value,) in config.fit.path(task)] for task in dataset.task}
        errors = mean_errors(grams, samples.targets, samples.fold, values, methods)
        for (task, method), error in errors.items():
            print(f"{dataset.name},{task},{method},{error!r}")


if __name__ == "__main__":
    main()
