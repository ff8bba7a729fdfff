"""Statistics from sums over tiles, against whole matrices in extended precision."""

import numpy as np
import pytest
from hypothesis import given, settings

import kernel_pipeline.tasks.statistics.sums
from kernel_pipeline.tasks.statistics.statistics import statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from tests.tasks import dense
from tests.tasks.dense import Floats
from tests.tasks.statistics.gaussian_problems import (
    Problem,
    assert_within,
    check_all_sets,
    entry_errors,
    filling,
    gaussian_family,
    make_problem,
    problems,
    sums_of,
)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_sums_over_any_tiles_give_the_statistics_of_every_set(problem: Problem) -> None:
    sums, _ = sums_of(problem)
    check_all_sets(problem, sums)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_a_tile_contains_the_kernels_minus_one(problem: Problem) -> None:
    _, gram = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    upper = np.triu_indices(len(problem.features))
    expected = (reference - 1).astype(np.float64)
    errors = entry_errors(problem.features, problem.log2_gamma, reference)
    assert_within(gram[:, *upper], expected[:, *upper], errors[:, *upper])
    # tiles on the diagonal are written completely; nothing is written below them
    tile = np.arange(len(problem.features)) // problem.tile
    covered = tile[:, None] <= tile[None, :]
    assert np.isfinite(gram[:, covered]).all()
    assert np.isnan(gram[:, ~covered]).all()
    assert_within(gram[:, covered], expected[:, covered], errors[:, covered])


@pytest.mark.parametrize("tile", [7, 16, 200])
@pytest.mark.parametrize(("d", "scale"), [(1, 1.0), (3, 0.1), (5, 1.0), (5, 10.0)])
def test_without_an_allowance_for_rounding(tile: int, d: int, scale: float) -> None:
    # For ordinary data and folds of at least ten samples, every entry has a relative error below 1e-9.
    problem = make_problem(7, 60, d, (-12, 3), tile, scale=scale, targets=2)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    for folds in problem.sets():
        for index, target in enumerate(problem.targets.T):
            actual = statistics(sums, problem.targets, [index], folds, problem.bounds)
            expected = dense.dense_statistics(reference, target, problem.inside(folds))
            one, scaled = expected.trace_one(), actual.scaled(actual.trace)
            for name in ("M", "a", "trace"):
                np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), rtol=1e-9)
                np.testing.assert_allclose(getattr(scaled, name), getattr(one, name), rtol=1e-9)
            assert actual.label_norm == pytest.approx(expected.label_norm, rel=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_statistics_are_accurate_if_a_large_mean_of_the_labels_is_subtracted_first(offset: float) -> None:
    problem = make_problem(3, 50, 3, (-12, 3), 9, offset=offset)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    shifted = Problem(
        problem.features, problem.targets - problem.targets.mean(axis=0), problem.bounds, problem.log2_gamma, 9
    )
    sums, _ = sums_of(shifted)
    for folds in problem.sets():
        actual = statistics(sums, shifted.targets, [0], folds, problem.bounds)
        expected = dense.dense_statistics(reference, problem.targets[:, 0], problem.inside(folds))
        np.testing.assert_allclose(actual.a, expected.a, rtol=1e-9)
        assert actual.label_norm == pytest.approx(expected.label_norm, rel=1e-9)


def test_blocks_smaller_than_the_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(5, 190, 3, (-6, 1), 110, cuts=[0, 50, 57, 140, 190], targets=2)
    whole, whole_gram = sums_of(problem)
    # 16 is the smallest side of a block: folds of 50 and of 83 then have several, of unequal sizes
    monkeypatch.setattr(kernel_pipeline.tasks.statistics.sums, "BLOCK_BYTES", 1)
    sizes: list[tuple[int, int]] = []

    def spying(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
        sizes.append((len(rows), len(columns)))
        gaussian_family(log2_gamma, rows, columns, out)

    sums, gram = sums_of(problem, spying)
    assert max(max(size) for size in sizes) <= 16
    assert len(sizes) > 60
    check_all_sets(problem, sums)
    np.testing.assert_allclose(gram, whole_gram, rtol=1e-9)
    for name in ("products", "label_products", "rows", "diagonal"):
        np.testing.assert_allclose(getattr(sums, name), getattr(whole, name), rtol=1e-9, atol=1e-9)


def test_sums_of_batches_add_up() -> None:
    problem = make_problem(11, 30, 2, (-3, 0), 30, targets=2)
    whole, _ = sums_of(problem)
    parts = [Sums.zeros(problem.folds, problem.kernels, 2, 30) for _ in range(2)]
    spans = [slice(0, 13), slice(13, 26), slice(26, 30)]
    tiles = [(rows, columns) for number, rows in enumerate(spans) for columns in spans[number:]]
    for number, (rows, columns) in enumerate(tiles):
        values = np.empty((problem.kernels, rows.stop - rows.start, columns.stop - columns.start))
        add_tile(parts[number % 2], filling(problem), problem.targets, problem.bounds, (rows, columns), values)
    total = parts[0]
    total += parts[1]
    for name in ("products", "label_products", "rows", "diagonal"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


def test_the_order_of_the_folds_does_not_matter() -> None:
    problem = make_problem(13, 30, 2, (-3, 0), 8)
    sums, _ = sums_of(problem)
    forth = statistics(sums, problem.targets, [0], [0, 2, 3], problem.bounds)
    back = statistics(sums, problem.targets, [0], iter([3, 0, 2]), problem.bounds)
    np.testing.assert_array_equal(forth.M, back.M)
    np.testing.assert_array_equal(forth.a, back.a)
    np.testing.assert_array_equal(forth.trace, back.trace)


@pytest.mark.parametrize("tile", [1, 5, 40])
def test_duplicate_rows(tile: int) -> None:
    problem = make_problem(17, 36, 4, (-12, 3), tile, folds=4, targets=2)
    features = problem.features.copy()
    features[9:18] = features[:9]  # a whole fold twice
    features[30] = features[29]  # and two rows of the same fold
    repeated = Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile)
    sums, _ = sums_of(repeated)
    check_all_sets(repeated, sums)


def test_labels_that_are_orthogonal_to_every_kernel() -> None:
    # Each row occurs twice, with labels that cancel, so a is 0 up to rounding of either sign.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features = np.repeat(rng.normal(size=(15, 3)), 2, axis=0)
        target = 5.3 + np.tile([1.0, -1.0], 15)
        problem = Problem(features, target[:, None], np.array([0, 10, 20, 30]), (-12, 3), 7)
        sums, _ = sums_of(problem)
        for folds in ([0, 1], [0, 1, 2], [2]):
            actual = statistics(sums, target[:, None], [0], folds, problem.bounds)
            assert (actual.a >= 0).all()
            assert (actual.own_alignments() < 1e-10).all()


@pytest.mark.parametrize("tile", [1, 8, 40])
def test_the_diagonal_of_the_kernel_is_exact(tile: int) -> None:
    # Far from the origin, |x|^2 - 2 x.x + |x|^2 need not be 0 after rounding, but K_ii must be exactly 1.
    problem = make_problem(53, 33, 5, (-2, 3), tile)
    far = Problem(problem.features + 1000.0, problem.targets, problem.bounds, problem.log2_gamma, tile)
    sums, gram = sums_of(far)
    assert not np.diagonal(gram, axis1=1, axis2=2).any()
    assert not sums.diagonal.any()
