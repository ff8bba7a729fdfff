"""Sums of one tile for several assignments of samples to folds, against whole matrices."""

from itertools import product

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.statistics import repeated_sums
from kernel_pipeline.tasks.statistics.repeated_sums import add_repeated_tile
from kernel_pipeline.tasks.statistics.statistics import statistics
from kernel_pipeline.tasks.statistics.sums import Sums
from tests.tasks import dense
from tests.tasks.statistics.gaussian_problems import Problem, filling, make_problem

FOLDS = 3


def assignments(samples: int, repeats: int) -> Integers:
    """Return the folds of each repeat: contiguous ones first, then random ones of other sizes."""
    random = np.random.default_rng(1)
    return np.stack([np.sort(np.arange(samples) % FOLDS), *random.integers(0, FOLDS, (repeats - 1, samples))])


def repeated(problem: Problem, folds: Integers) -> tuple[list[Sums], Floats]:
    """Return the sums of all tiles for each assignment, and the stored kernels."""
    m, kernels = len(problem.features), problem.kernels
    sums = [Sums.zeros(FOLDS, kernels, problem.targets.shape[1], m) for _ in folds]
    gram, memory = np.full((kernels, m, m), np.nan), np.empty(kernels * problem.tile**2)
    spans = [slice(start, min(start + problem.tile, m)) for start in range(0, m, problem.tile)]
    for rows, columns in product(spans, spans):
        if rows.start <= columns.start:
            tile = (rows, columns)
            bounds = fold_bounds(folds[0])
            add_repeated_tile(
                sums, folds, memory, filling(problem), problem.targets, bounds, tile, gram[:, rows, columns]
            )
    return sums, gram


@pytest.mark.parametrize(("repeats", "tile", "rows_per_combination"), [(1, 16, 8), (2, 80, 8), (3, 25, 1), (4, 200, 8)])
def test_statistics_of_every_assignment_are_those_of_whole_matrices(
    repeats: int, tile: int, rows_per_combination: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated_sums, "ROWS_PER_COMBINATION", rows_per_combination)
    problem = make_problem(7, 90, 3, (-6, 0), tile, targets=2)
    folds = assignments(90, repeats)
    sums, gram = repeated(problem, folds)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    upper = np.triu_indices(90)
    np.testing.assert_allclose(gram[:, *upper], (reference - 1)[:, *upper].astype(float), rtol=1e-12, atol=1e-12)
    for found, fold in zip(sums, folds, strict=True):
        order = np.argsort(fold, kind="stable")
        ordered, bounds = found.reordered(order), fold_bounds(fold[order])
        for chosen in ([0], [2], [0, 1], [1, 2]):
            inside = np.flatnonzero(np.isin(fold, chosen))
            for column, target in enumerate(problem.targets.T):
                actual = statistics(ordered, problem.targets[order], [column], chosen, bounds)
                expected = dense.dense_statistics(reference, target, inside)
                for name in ("M", "a", "trace"):
                    np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), rtol=1e-9)


def test_many_kernels_use_the_symmetric_product(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(7, 60, 3, (-6, 0), 30)
    folds = assignments(60, 2)
    usual, _ = repeated(problem, folds)
    monkeypatch.setattr(repeated_sums, "MAX_KERNELS_GEMM", 1)
    for first, second in zip(usual, repeated(problem, folds)[0], strict=True):
        np.testing.assert_allclose(first.products, second.products, rtol=1e-12)


def test_two_assignments_together_have_enough_rows_per_combination() -> None:
    assert [list(group) for group in repeated_sums._groups(5, 5, 512)] == [[0, 1], [2, 3], [4]]
    assert [list(group) for group in repeated_sums._groups(3, 10, 512)] == [[0], [1], [2]]
