"""Read the statistics of trials."""

from collections.abc import Sequence

import numpy as np

from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.statistics.statistics import Statistics

# What `read_statistics` reads.
ARRAYS = ("M", "a", "M_test", "a_test", "trace", "label_norms")


def read_statistics(
    store: RunStore, dataset: str, task: str, trials: Sequence[int]
) -> list[tuple[Statistics, Statistics]]:
    """By trial, of the kernels scaled to trace one on the training set: there, and on the test fold."""
    chosen = slice(trials[0], trials[-1] + 1)
    arrays = [store.read(STATISTICS, f"{dataset}/{task}/{name}", chosen) for name in ARRAYS]
    return [
        (
            Statistics(M, a, (trace > 0).astype(np.float64), float(norms[0])),
            Statistics(M_test, a_test, (trace > 0).astype(np.float64), float(norms[1])),
        )
        for M, a, M_test, a_test, trace, norms in zip(*arrays, strict=True)
    ]


def statistics_inputs(dataset: str, task: str, trials: Sequence[int]) -> tuple[Input, ...]:
    """What `read_statistics` reads, as the inputs of a task."""
    return tuple(trials_of(STATISTICS, f"{dataset}/{task}/{name}", trials) for name in ARRAYS)
