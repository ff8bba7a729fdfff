"""Read the statistics of trials."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.statistics.debiased import Estimates
from kernel_pipeline.tasks.statistics.permutations import UNKNOWN, NullLevel, null_level
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment, alignment_norm

BIASED = ("M", "a", "M_test", "a_test", "label_norms")
DEBIASED = tuple(f"{name}_debiased" for name in BIASED)
PERMUTED = ("a_permuted", "a_test_permuted")
# The arrays that `read_statistics` reads, besides those for permuted labels.
ARRAYS = (*BIASED, *DEBIASED, "trace")


@dataclass(frozen=True)
class ScaledStatistics:
    """Statistics of the kernels of a trial, which are scaled to trace one on the training set."""

    train: Statistics
    test: Statistics
    debiased_train: Statistics
    debiased_test: Statistics
    permuted_train: Floats | None = None
    permuted_test: Floats | None = None
    """`a` for permuted labels, (N, p); None without permutations."""

    def alignments(self, weights: Floats) -> Alignments:
        """Return the alignments of the combined kernel with the labels; no weight may be negative."""
        parts = (
            (self.train, self.debiased_train, self.permuted_train),
            (self.test, self.debiased_test, self.permuted_test),
        )
        return Alignments.of(
            *(
                Estimates(alignment(part, weights), alignment(debiased, weights), *_level(part, weights, permuted))
                for part, debiased, permuted in parts
            )
        )


def _level(statistics: Statistics, weights: Floats, permuted: Floats | None) -> NullLevel:
    """Return the mean and the quantile of the alignments of a combined kernel with permuted labels."""
    norm = alignment_norm(statistics, weights)
    return UNKNOWN if permuted is None or not norm > 0 else null_level(permuted @ weights / norm)


def read_statistics(
    store: RunStore, dataset: str, problem: str, trials: Sequence[int], permuted: bool = False
) -> list[ScaledStatistics]:
    """Return the statistics on the training set and on the test fold, for each of some consecutive trials.

    Parameters
    ----------
    permuted
        Whether to read the statistics for permuted labels as well.
    """
    chosen = slice(trials[0], trials[-1] + 1)
    names = ARRAYS + (PERMUTED if permuted else ())
    arrays = {name: store.read(STATISTICS, f"{dataset}/{problem}/{name}", chosen) for name in names}

    def part(number: int, names: Sequence[str]) -> tuple[Statistics, Statistics]:
        M, a, M_test, a_test, norms = (arrays[name][number] for name in names)
        trace = (arrays["trace"][number] > 0).astype(np.float64)
        return Statistics(M, a, trace, float(norms[0])), Statistics(M_test, a_test, trace, float(norms[1]))

    def permuted_part(name: str, number: int) -> Floats | None:
        return arrays[name][number] if permuted else None

    return [
        ScaledStatistics(
            *part(n, BIASED),
            *part(n, DEBIASED),
            permuted_train=permuted_part("a_permuted", n),
            permuted_test=permuted_part("a_test_permuted", n),
        )
        for n in range(len(trials))
    ]


def statistics_inputs(dataset: str, problem: str, trials: Sequence[int], permuted: bool = False) -> tuple[Input, ...]:
    """Return the arrays that `read_statistics` reads, as inputs of a task."""
    names = ARRAYS + (PERMUTED if permuted else ())
    return tuple(trials_of(STATISTICS, f"{dataset}/{problem}/{name}", trials) for name in names)
