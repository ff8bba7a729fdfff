"""The level of alignments for permuted labels, against dense matrices and its exact mean."""

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.statistics import repeated_sums
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels, centered
from kernel_pipeline.tasks.statistics.permutations import (
    UNKNOWN,
    Permutations,
    label_products,
    null_level,
    permuted_products,
)
from kernel_pipeline.tasks.statistics.repeated_sums import PermutedSums, add_repeated_tile
from kernel_pipeline.tasks.statistics.sums import Sums

M, FOLDS, COUNT = 40, 3, 25


def kernels() -> Floats:
    features = np.random.default_rng(2).normal(size=(M, 3))
    return np.stack([features @ features.T, (1 + features @ features.T) ** 2])


def test_permutations_exchange_samples_of_a_fold_and_depend_on_seed_and_repeat() -> None:
    fold = np.random.default_rng(0).integers(0, FOLDS, M)
    orders = Permutations(COUNT, 3).orders(fold)
    assert orders.shape == (COUNT, M)
    assert (fold[orders] == fold).all()
    assert (np.sort(orders, axis=1) == np.arange(M)).all()
    assert len(np.unique(orders, axis=0)) == COUNT
    np.testing.assert_array_equal(orders, Permutations(COUNT, 3).orders(fold))
    for other in (Permutations(COUNT, 4).orders(fold), Permutations(COUNT, 3).orders(fold, 1)):
        assert not (other == orders).all(axis=1).any()


def test_permutations_of_a_fold_are_uniform() -> None:
    orders = Permutations(6000, 0).orders(np.array([0, 0, 0]))
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 1000).max() < 130  # more than four standard deviations


def test_the_quantile_bounds_the_probability_of_exceeding_it() -> None:
    """Of 20 exchangeable values, one exceeds the quantile of the 19 others in at most one of 20 cases."""
    values = np.random.default_rng(1).random(20)
    exceeded = [values[i] > null_level(np.delete(values, i)).quantile for i in range(20)]
    assert sum(exceeded) == 1
    assert null_level(values[:18]) == UNKNOWN
    assert null_level(np.append(values, np.nan)) == UNKNOWN
    assert null_level(np.arange(1.0, 100.0)).quantile == 95.0


@pytest.mark.parametrize("tile", [13, 100])
def test_sums_give_the_products_of_dense_matrices_for_every_set(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_sums, "MAX_PERMUTED_ENTRIES", 700)  # several parts
    grams, random = kernels(), np.random.default_rng(5)
    targets = random.normal(size=(M, 3))
    folds = np.stack([np.sort(random.integers(0, FOLDS, M)), random.integers(0, FOLDS, M)])
    blocks = ((0,), (1, 2))
    sums = [Sums.zeros(FOLDS, 2, 3, M) for _ in folds]
    permuted = [
        PermutedSums(Permutations(COUNT, 1).orders(fold, r), blocks, np.zeros((2, COUNT, FOLDS, FOLDS, 2)))
        for r, fold in enumerate(folds)
    ]

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        out[...] = grams[:, rows, columns]

    spans = [slice(start, min(start + tile, M)) for start in range(0, M, tile)]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            span, bounds = (rows, columns), fold_bounds(folds[0])
            add_repeated_tile(sums, folds, np.empty(2 * tile**2), fill, targets, bounds, span, permuted=permuted)
    for found, products, fold in zip(sums, permuted, folds, strict=True):
        place = np.argsort(fold, kind="stable")
        orders = np.argsort(place)[products.orders[:, place]]
        for chosen in ([0], [0, 2]):
            inside = np.isin(fold, chosen)
            for problem, columns_of in enumerate(blocks):
                actual = permuted_products(
                    found.reordered(place),
                    products.products[problem],
                    targets[place],
                    orders,
                    columns_of,
                    chosen,
                    fold_bounds(fold[place]),
                )
                for k, gram in enumerate(grams):
                    matrix = centered(gram[np.ix_(inside, inside)])
                    labels = targets[products.orders][:, inside][:, :, list(columns_of)]
                    expected = [np.vdot(matrix, block @ block.T) for block in labels]
                    np.testing.assert_allclose(actual[:, k], expected, rtol=1e-10)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_mean_level_is_that_of_all_permutations(columns: int) -> None:
    """The mean over all permutations of n labels is `tr K tr YY' / (n - 1)`, for centered kernels and labels."""
    kernel, labels = kernels()[1], np.random.default_rng(3).normal(size=(M, columns))
    orders = Permutations(20_000, 0).orders(np.zeros(M, dtype=np.int64))
    found = alignment_with_labels(kernel, labels, labels[orders])
    matrix, deviations = centered(kernel), labels - labels.mean(axis=0)
    of_labels = deviations @ deviations.T
    expected = np.trace(matrix) * np.trace(of_labels) / (M - 1)
    expected /= np.linalg.norm(matrix) * np.linalg.norm(of_labels)
    assert found.null_mean == pytest.approx(expected, rel=0.02)
    products = label_products(matrix, labels[orders[:3]])
    by_hand = [np.vdot(matrix, block @ block.T) for block in deviations[orders[:3]]]
    np.testing.assert_allclose(products, by_hand, rtol=1e-12)


def test_few_columns_have_the_level_of_their_kernel() -> None:
    random = np.random.default_rng(6)
    columns, labels = random.normal(size=(M, 4)), random.normal(size=(M, 2))
    rank_one = RankOneKernels.of(scipy.sparse.csr_array(columns[:30]), scipy.sparse.csr_array(columns[30:]))
    permuted = labels[:30][Permutations(COUNT, 0).orders(np.zeros(30, dtype=np.int64))]
    weighted = WeightedColumns.of(rank_one, np.array([0.5, 0.2, 0.0, 0.3]))
    found = weighted.alignment(labels[:30], permuted=permuted)
    expected = alignment_with_labels(weighted.train @ weighted.train.T, labels[:30], permuted)
    assert found == pytest.approx(expected, rel=1e-9)


def test_constant_labels_have_no_level() -> None:
    labels = np.ones((M, 1))
    assert np.isnan(alignment_with_labels(kernels()[0], labels, np.ones((COUNT, M, 1)))).all()
