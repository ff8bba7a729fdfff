"""The statistics of trials, as the tasks behind `reduce` read them, and what is said of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.inputs import Input, trials_of
from pipeline.store import STATISTICS, RunStore
from tasks.arrays import Floats
from tasks.statistics import Statistics

# So many constant kernels are named; there may be very many.
NAMED = 5
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


def constant_kernels(traces: Floats) -> dict[str, Any]:
    """How many kernels are constant on the training set of some trial, and which ones, the first of them."""
    constant = traces == 0
    kernels = np.flatnonzero(constant.any(axis=0))
    return {
        "count": len(kernels),
        "first": [[int(kernel), np.flatnonzero(constant[:, kernel]).tolist()] for kernel in kernels[:NAMED]],
    }
