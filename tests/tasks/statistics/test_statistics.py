from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import kernel_pipeline.tasks.statistics.sums
from kernel_pipeline.tasks.kernels.distances import squared_distances
from kernel_pipeline.tasks.kernels.family import Fill
from kernel_pipeline.tasks.kernels.gaussian import SHIFT, shifted_kernels
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment, statistics, uncentered_alignments
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from tests.tasks import dense
from tests.tasks.dense import Extended, Floats, Integers

EPS = float(np.finfo(np.float64).eps)
REFERENCE_EPS = float(np.finfo(np.longdouble).eps)
# How many roundings of the size of one entry may add up.
ROUNDINGS = 64.0

Family = Callable[[tuple[int, int], Floats, Floats, Floats], None]


@dataclass(frozen=True)
class Problem:
    features: Floats
    targets: Floats
    """(m, T)"""
    bounds: Integers
    log2_gamma: tuple[int, int]
    tile: int

    @property
    def folds(self) -> int:
        return len(self.bounds) - 1

    @property
    def kernels(self) -> int:
        return self.log2_gamma[1] - self.log2_gamma[0] + 1

    def inside(self, folds: Sequence[int]) -> Integers:
        return np.concatenate([np.arange(self.bounds[f], self.bounds[f + 1]) for f in sorted(folds)])

    def sets(self) -> list[list[int]]:
        """The training folds of every trial, and every test fold."""
        folds = range(self.folds)
        training = [[f for f in folds if f not in (t, (t + 1) % self.folds)] for t in folds]
        return training + [[t] for t in folds]


def gaussian_family(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
    shifted_kernels(squared_distances(rows, columns), log2_gamma, out)


def filling(problem: Problem, family: Family = gaussian_family) -> Fill:
    """Blocks of the kernels of a problem, from its features as they are."""

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        x = problem.features[rows]
        family(problem.log2_gamma, x, x if rows == columns else problem.features[columns], out)

    return fill


def sums_of(problem: Problem, family: Family = gaussian_family) -> tuple[Sums, Floats]:
    """The sums over all tiles, and the tiles put together; what no tile covers stays NaN."""
    m, p = len(problem.features), problem.kernels
    sums = Sums.zeros(problem.folds, p, problem.targets.shape[1], m)
    gram = np.full((p, m, m), np.nan)
    spans = [slice(start, min(start + problem.tile, m)) for start in range(0, m, problem.tile)]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            # NaN, so that an entry the tile forgets does not pass for a number
            values = np.full((p, rows.stop - rows.start, columns.stop - columns.start), np.nan)
            add_tile(sums, filling(problem, family), problem.targets, problem.bounds, (rows, columns), values)
            gram[:, rows, columns] = values
    return sums, gram


def gammas(log2_gamma: tuple[int, int]) -> Floats:
    return np.exp2(np.arange(log2_gamma[0], log2_gamma[1] + 1, dtype=np.float64))


def make_problem(
    seed: int,
    m: int,
    d: int,
    log2_gamma: tuple[int, int],
    tile: int,
    cuts: Sequence[int] | None = None,
    folds: int = 5,
    targets: int = 1,
    scale: float = 1.0,
    offset: float = 0.0,
) -> Problem:
    """Normal features; the first target a function of them, the second their classes."""
    rng = np.random.default_rng(seed)
    features = scale * rng.normal(size=(m, d))
    smooth = np.sin(features[:, 0]) + 0.5 * rng.normal(size=m) + offset
    classes = np.where(rng.random(m) < 0.4, 1.0, -1.0)
    bounds = np.linspace(0, m, folds + 1).astype(np.int64) if cuts is None else np.array(cuts, dtype=np.int64)
    return Problem(features, np.stack([smooth, classes][:targets], axis=1), bounds, log2_gamma, tile)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    m = draw(st.integers(12, 60), label="m")
    folds = draw(st.integers(3, 10), label="folds")
    # uneven folds, as small as one sample
    inner = draw(st.lists(st.integers(1, m - 1), min_size=folds - 1, max_size=folds - 1, unique=True), label="cuts")
    lo = draw(st.integers(-12, 3), label="lo")
    hi = draw(st.integers(lo, 3), label="hi")
    # one sample; some that straddle folds and leave a rest; more than all samples
    tile = draw(st.one_of(st.just(1), st.integers(2, m - 1), st.integers(m, 2 * m)), label="tile")
    return make_problem(
        seed=draw(st.integers(0, 2**32 - 1), label="seed"),
        m=m,
        d=draw(st.integers(1, 5), label="d"),
        log2_gamma=(lo, hi),
        tile=tile,
        cuts=[0, *sorted(inner), m],
        targets=draw(st.integers(1, 2), label="targets"),
        scale=draw(st.sampled_from([0.1, 0.5, 1.0, 3.0, 10.0]), label="scale"),
        offset=draw(st.sampled_from([0.0, 3.0, -1000.0]), label="offset"),
    )


def entry_errors(features: Floats, log2_gamma: tuple[int, int], reference: Extended) -> Floats:
    """(p, m, m): what rounding alone may do to an entry.

    Distances come as |x|^2 + |z|^2 - 2 x.z, which loses digits where two samples are close beside their norms:
    an absolute error of some eps (|x|^2 + |z|^2), that gamma passes on. The reference rounds too, next to 1.
    """
    squares = (features**2).sum(axis=1)
    sizes = squares[:, None] + squares[None, :]
    shifted = np.abs(reference - 1).astype(np.float64)
    return np.asarray(ROUNDINGS * (EPS * (shifted + gammas(log2_gamma)[:, None, None] * sizes) + REFERENCE_EPS))


def assert_close_statistics(
    actual: Statistics,
    expected: dense.DenseStatistics,
    norms: Floats,
    errors: Floats,
    labels: Floats,
) -> None:
    """Every entry to 1e-9 of itself, but for what rounding of the sums must be allowed.

    The allowance is first-order analysis, with e_k = ||errors of E_k||_F: M_kl moves by e_k ||E_l|| + e_l ||E_k||,
    a_k by e_k ||y||^2 and trace_k by e_k. It is some 1e-13 of these products, so it counts only where M, a or
    a trace is what cancellation leaves over: close pairs in a fold of two, or labels at right angles to a kernel.
    """
    rtol, n, label_squares = 1e-9, len(labels), float(labels @ labels)
    # Samples so close that centering leaves less than 1e-13 of the trace n: these kernels may count as constant.
    dead = actual.trace == 0
    assert (expected.trace[dead] <= 2.1e-13 * n).all()
    for array in (actual.M[dead], actual.M[:, dead], actual.a[dead]):
        assert not array.any()
    expected = cleared(expected, dead)

    slack_M = np.outer(errors, norms)
    slack_M = slack_M + slack_M.T
    slack_a = errors * label_squares
    assert_within(actual.M, expected.M, rtol * np.abs(expected.M) + slack_M)
    assert_within(actual.a, expected.a, rtol * np.abs(expected.a) + slack_a)
    assert_within(actual.trace, expected.trace, rtol * expected.trace + errors)
    assert actual.label_norm == pytest.approx(expected.label_norm, rel=rtol, abs=ROUNDINGS * EPS * label_squares)
    np.testing.assert_array_equal(actual.M, actual.M.T)
    if (expected.trace <= 1e6 * errors).any():
        return  # a trace that is mostly rounding: nothing can be divided by it
    # The relative errors of a quotient are those of its parts, added.
    relative = 2.0 * (rtol + errors / expected.trace)
    scaled, one = actual.scaled(actual.trace), expected.trace_one()
    traces = np.outer(expected.trace, expected.trace)
    slack_M = 2.0 * slack_M / traces + np.add.outer(relative, relative) * np.abs(one.M)
    slack_a = 2.0 * slack_a / expected.trace + 2.0 * relative * np.abs(one.a)
    assert_within(scaled.M, one.M, slack_M)
    assert_within(scaled.a, one.a, slack_a)
    np.testing.assert_allclose(scaled.trace, 1.0, rtol=1e-15)
    assert scaled.label_norm == actual.label_norm


def cleared(expected: dense.DenseStatistics, dead: NDArray[np.bool_]) -> dense.DenseStatistics:
    alive = np.where(dead, 0.0, 1.0)
    M = expected.M * np.outer(alive, alive)
    return dense.DenseStatistics(M, expected.a * alive, expected.trace * alive, expected.label_norm)


def assert_within(actual: Floats, expected: Floats, slack: Floats) -> None:
    assert actual.shape == expected.shape
    excess = np.abs(actual - expected) - slack
    worst = np.unravel_index(int(np.argmax(excess)), excess.shape)
    assert (excess <= 0).all(), f"entry {worst}: {actual[worst]!r}, expected {expected[worst]!r} +- {slack[worst]!r}"


def check_all_sets(problem: Problem, sums: Sums) -> None:
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    entries = entry_errors(problem.features, problem.log2_gamma, reference)
    shifted = (reference - 1).astype(np.float64)
    for folds in problem.sets():
        inside = problem.inside(folds)
        pairs = np.s_[:, inside[:, None], inside[None, :]]
        norms, errors = np.linalg.norm(shifted[pairs], axis=(1, 2)), np.linalg.norm(entries[pairs], axis=(1, 2))
        for index, target in enumerate(problem.targets.T):
            actual = statistics(sums, target, index, folds, problem.bounds)
            expected = dense.dense_statistics(reference, target, inside)
            # the sums were taken with these labels, mean and all, so that is what rounding is relative to
            assert_close_statistics(actual, expected, norms, errors, target[inside])


@settings(max_examples=40, deadline=None)
@given(problems())
def test_sums_over_any_tiles_give_the_statistics_of_every_set(problem: Problem) -> None:
    sums, _ = sums_of(problem)
    check_all_sets(problem, sums)


@settings(max_examples=40, deadline=None)
@given(problems())
def test_a_tile_holds_the_kernels_minus_one(problem: Problem) -> None:
    _, gram = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    upper = np.triu_indices(len(problem.features))
    expected = (reference - 1).astype(np.float64)
    errors = entry_errors(problem.features, problem.log2_gamma, reference)
    assert_within(gram[:, *upper], expected[:, *upper], errors[:, *upper])
    # tiles on the diagonal are written whole; below them there is nothing
    tile = np.arange(len(problem.features)) // problem.tile
    covered = tile[:, None] <= tile[None, :]
    assert np.isfinite(gram[:, covered]).all()
    assert np.isnan(gram[:, ~covered]).all()
    assert_within(gram[:, covered], expected[:, covered], errors[:, covered])


@pytest.mark.parametrize("tile", [7, 16, 200])
@pytest.mark.parametrize(("d", "scale"), [(1, 1.0), (3, 0.1), (5, 1.0), (5, 10.0)])
def test_without_an_allowance_for_rounding(tile: int, d: int, scale: float) -> None:
    # Ordinary data, folds of ten and more: here 1e-9 of each entry holds as it stands.
    problem = make_problem(7, 60, d, (-12, 3), tile, scale=scale, targets=2)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    for folds in problem.sets():
        for index, target in enumerate(problem.targets.T):
            actual = statistics(sums, target, index, folds, problem.bounds)
            expected = dense.dense_statistics(reference, target, problem.inside(folds))
            one, scaled = expected.trace_one(), actual.scaled(actual.trace)
            for name in ("M", "a", "trace"):
                np.testing.assert_allclose(getattr(actual, name), getattr(expected, name), rtol=1e-9)
                np.testing.assert_allclose(getattr(scaled, name), getattr(one, name), rtol=1e-9)
            assert actual.label_norm == pytest.approx(expected.label_norm, rel=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_labels_of_a_large_mean_keep_their_digits_when_it_is_taken_off_first(offset: float) -> None:
    problem = make_problem(3, 50, 3, (-12, 3), 9, offset=offset)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    shifted = Problem(
        problem.features, problem.targets - problem.targets.mean(axis=0), problem.bounds, problem.log2_gamma, 9
    )
    sums, _ = sums_of(shifted)
    for folds in problem.sets():
        actual = statistics(sums, shifted.targets[:, 0], 0, folds, problem.bounds)
        expected = dense.dense_statistics(reference, problem.targets[:, 0], problem.inside(folds))
        np.testing.assert_allclose(actual.a, expected.a, rtol=1e-9)
        assert actual.label_norm == pytest.approx(expected.label_norm, rel=1e-9)


def test_squares_smaller_than_the_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(5, 190, 3, (-6, 1), 110, cuts=[0, 50, 57, 140, 190], targets=2)
    whole, whole_gram = sums_of(problem)
    # 16 is the least side of a square: folds of 50 and of 83 then take several, of unequal sizes
    monkeypatch.setattr(kernel_pipeline.tasks.statistics.sums, "SQUARE_BYTES", 1)
    sizes: list[tuple[int, int]] = []

    def spying(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
        sizes.append((len(rows), len(columns)))
        gaussian_family(log2_gamma, rows, columns, out)

    sums, gram = sums_of(problem, spying)
    assert max(max(size) for size in sizes) <= 16
    assert len(sizes) > 60
    check_all_sets(problem, sums)
    np.testing.assert_allclose(gram, whole_gram, rtol=1e-9)
    for name in ("products", "labels", "rows", "diagonal"):
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
    for name in ("products", "labels", "rows", "diagonal"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-12, atol=1e-12)


def test_the_order_of_the_folds_does_not_matter() -> None:
    problem = make_problem(13, 30, 2, (-3, 0), 8)
    sums, _ = sums_of(problem)
    forth = statistics(sums, problem.targets[:, 0], 0, [0, 2, 3], problem.bounds)
    back = statistics(sums, problem.targets[:, 0], 0, iter([3, 0, 2]), problem.bounds)
    np.testing.assert_array_equal(forth.M, back.M)
    np.testing.assert_array_equal(forth.a, back.a)
    np.testing.assert_array_equal(forth.trace, back.trace)


@pytest.mark.parametrize("tile", [1, 5, 40])
def test_duplicate_rows(tile: int) -> None:
    problem = make_problem(17, 36, 4, (-12, 3), tile, folds=4, targets=2)
    features = problem.features.copy()
    features[9:18] = features[:9]  # a whole fold twice
    features[30] = features[29]  # and neighbours in one fold
    repeated = Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile)
    sums, _ = sums_of(repeated)
    check_all_sets(repeated, sums)


@pytest.mark.parametrize("tile", [1, 3, 11, 100])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_kernel_that_is_constant_on_the_training_set_counts_as_none(d: int, tile: int) -> None:
    problem = make_problem(19, 40, d, (-12, 3), tile)
    features = problem.features.copy()
    features[8:32] = 0.75  # folds 1 to 3; its squares are exact, however they are summed
    sums, _ = sums_of(Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile))
    actual = statistics(sums, problem.targets[:, 0], 0, [1, 2, 3], problem.bounds)
    for dead in (actual, actual.scaled(actual.trace)):
        assert not dead.M.any()
        assert not dead.a.any()
        assert not dead.trace.any()
    assert actual.label_norm > 0
    assert np.isnan(actual.own_alignments()).all()
    assert np.isnan(alignment(actual, np.full(problem.kernels, 1.0 / problem.kernels)))


@pytest.mark.parametrize("value", [0.3, 1.0, 0.0])
def test_one_constant_kernel_beside_others_that_vary(value: float) -> None:
    problem = make_problem(23, 40, 3, (-2, 2), 9, targets=2)

    def with_a_constant(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
        gaussian_family(log2_gamma, rows, columns, out)
        out[1] = value - SHIFT

    sums, _ = sums_of(problem, with_a_constant)
    others = [0, 2, 3, 4]
    reference = dense.gaussians(problem.features, problem.log2_gamma)[others]
    for folds in problem.sets():
        actual = statistics(sums, problem.targets[:, 1], 1, folds, problem.bounds)
        expected = dense.dense_statistics(reference, problem.targets[:, 1], problem.inside(folds))
        for dead in (actual, actual.scaled(actual.trace)):
            assert dead.trace[1] == dead.a[1] == 0.0
            assert not dead.M[1].any()
            assert not dead.M[:, 1].any()
        np.testing.assert_allclose(actual.M[np.ix_(others, others)], expected.M, rtol=1e-9)
        np.testing.assert_allclose(actual.a[others], expected.a, rtol=1e-9, atol=1e-12)
        assert np.isnan(actual.own_alignments()[1])
        assert np.isnan(alignment(actual, np.eye(5)[1]))


def test_identical_training_rows_far_from_the_origin_count_as_none_too() -> None:
    rng = np.random.default_rng(0)
    for d in range(2, 12):
        for tile in (7, 16):
            problem = make_problem(19, 40, d, (-3, 3), tile)
            features = problem.features.copy()
            features[8:32] = 10.0 * rng.normal(size=d)
            sums, _ = sums_of(Problem(features, problem.targets, problem.bounds, problem.log2_gamma, tile))
            actual = statistics(sums, problem.targets[:, 0], 0, [1, 2, 3], problem.bounds)
            assert not actual.trace.any(), (d, tile)


# At 2^-600 the square of E underflows and E does not, at 2^-1060 1/E overflows, at 2^-1100 gamma itself is 0: M, a and
# the trace must agree that there is nothing, or the quotients of trace-one kernels are 0/0.
@pytest.mark.parametrize("exponent", [-600, -1000, -1060, -1100])
def test_a_gamma_so_small_that_squares_underflow(exponent: int) -> None:
    problem = make_problem(29, 20, 3, (exponent, exponent), 7)
    sums, _ = sums_of(problem)
    actual = statistics(sums, problem.targets[:, 0], 0, [0, 1, 2], problem.bounds)
    for dead in (actual, actual.scaled(actual.trace)):
        assert dead.trace[0] == dead.a[0] == dead.M[0, 0] == 0.0


def test_alignments_against_the_definition() -> None:
    problem = make_problem(31, 45, 3, (-12, 3), 10, targets=2, offset=2.0)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    rng = np.random.default_rng(0)
    for folds in problem.sets():
        inside = problem.inside(folds)
        cut = reference[:, inside[:, None], inside[None, :]]
        for index, target in enumerate(problem.targets.T):
            actual = statistics(sums, target, index, folds, problem.bounds)
            expected = [dense.centered_alignment(kernel, target[inside]) for kernel in cut]
            np.testing.assert_allclose(actual.own_alignments(), expected, rtol=1e-8)
            mu = rng.random(problem.kernels) * (rng.random(problem.kernels) < 0.5)
            mu[0] += 0.1
            combined = np.tensordot(mu.astype(np.longdouble), cut, axes=1)
            of_all = dense.centered_alignment(combined, target[inside])
            assert alignment(actual, mu) == pytest.approx(of_all, rel=1e-8)
            # of trace-one kernels, weights mu_k are weights mu_k trace_k of the kernels as they are
            assert alignment(actual.scaled(actual.trace), mu * actual.trace) == pytest.approx(of_all, rel=1e-8)
            assert alignment(actual, 1e3 * mu) == pytest.approx(of_all, rel=1e-8)


def test_alignment_of_labels_that_do_not_vary_is_not_defined() -> None:
    problem = make_problem(37, 20, 3, (-3, 3), 7)
    constant = Problem(problem.features, np.full((20, 1), 2.0), problem.bounds, problem.log2_gamma, 7)
    sums, _ = sums_of(constant)
    actual = statistics(sums, constant.targets[:, 0], 0, [0, 1, 2], constant.bounds)
    assert actual.label_norm == 0.0
    assert np.isnan(actual.own_alignments()).all()
    assert np.isnan(alignment(actual, np.ones(7)))


def test_alignment_never_leaves_its_range_where_a_fold_holds_one_class() -> None:
    # Three of the rare class in six folds: three test folds see one class only, and their labels, shifted by the
    # mean of all, are constant up to rounding.
    for m in range(30, 61):
        problem = make_problem(41, m, 3, (-4, 2), m, folds=6)
        target = np.ones(m)
        target[problem.bounds[:3]] = -1.0
        target -= target.mean()
        shifted = Problem(problem.features, target[:, None], problem.bounds, problem.log2_gamma, m)
        sums, _ = sums_of(shifted)
        for fold in range(6):
            actual = statistics(sums, target, 0, [fold], problem.bounds)
            one_class = np.ptp(target[problem.inside([fold])]) == 0
            assert (np.isnan(actual.own_alignments()) if one_class else actual.own_alignments() <= 1 + 1e-9).all()


@pytest.mark.parametrize("offset", [0.0, 0.7, -4.0])
@pytest.mark.parametrize("tile", [10, 64])
def test_uncentered_alignments_undo_both_shifts(offset: float, tile: int) -> None:
    problem = make_problem(43, 45, 3, (-12, 3), tile, targets=2)
    sums, _ = sums_of(problem)
    reference = dense.gaussians(problem.features, problem.log2_gamma)
    for folds in problem.sets():
        inside = problem.inside(folds)
        for index, target in enumerate(problem.targets.T):
            actual = uncentered_alignments(
                sums, target, index, folds, problem.bounds, np.full(problem.kernels, SHIFT), offset
            )
            labels = target[inside] + offset
            expected = [dense.uncentered_alignment(K[np.ix_(inside, inside)], labels) for K in reference]
            # y'Ky may nearly cancel, and is bounded by ||K|| ||y||^2: hence an absolute part
            np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-13)


def test_uncentered_alignments_of_the_shifted_kernels_themselves() -> None:
    # With no shift to undo, the sums stand for E itself.
    problem = make_problem(47, 30, 2, (-3, 3), 11)
    sums, _ = sums_of(problem)
    shifted = dense.gaussians(problem.features, problem.log2_gamma) - 1
    inside, target = problem.inside([0, 1]), problem.targets[:, 0]
    actual = uncentered_alignments(sums, target, 0, [0, 1], problem.bounds, np.zeros(problem.kernels), 0.0)
    expected = [dense.uncentered_alignment(E[np.ix_(inside, inside)], target[inside]) for E in shifted]
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_labels_at_right_angles_to_every_kernel() -> None:
    # Each row twice, with labels that cancel: a is 0, and what rounding makes of it falls on either side.
    for seed in range(10):
        rng = np.random.default_rng(seed)
        features = np.repeat(rng.normal(size=(15, 3)), 2, axis=0)
        target = 5.3 + np.tile([1.0, -1.0], 15)
        problem = Problem(features, target[:, None], np.array([0, 10, 20, 30]), (-12, 3), 7)
        sums, _ = sums_of(problem)
        for folds in ([0, 1], [0, 1, 2], [2]):
            actual = statistics(sums, target, 0, folds, problem.bounds)
            assert (actual.a >= 0).all()
            assert (actual.own_alignments() < 1e-10).all()


@pytest.mark.parametrize("tile", [1, 8, 40])
def test_a_sample_is_exactly_like_itself(tile: int) -> None:
    # Far from the origin |x|^2 - 2 x.x + |x|^2 need not be 0, and K_ii = 1 is the one entry that anyone can check.
    problem = make_problem(53, 33, 5, (-2, 3), tile)
    far = Problem(problem.features + 1000.0, problem.targets, problem.bounds, problem.log2_gamma, tile)
    sums, gram = sums_of(far)
    assert not np.diagonal(gram, axis1=1, axis2=2).any()
    assert not sums.diagonal.any()


@pytest.mark.parametrize("exponent", [-300, -60, -36, -30, -20])
def test_a_tiny_gamma_is_not_yet_a_constant(exponent: int) -> None:
    # exp(-gamma d^2) - 1 tends to -gamma d^2, whose centered form is 2 gamma <x, z>: of trace one, the linear kernel.
    problem = make_problem(59, 40, 3, (exponent, exponent), 9)
    sums, _ = sums_of(problem)
    x = problem.features.astype(np.longdouble)
    linear = (x @ x.T)[None]
    for folds in problem.sets():
        actual = statistics(sums, problem.targets[:, 0], 0, folds, problem.bounds)
        expected = dense.dense_statistics(linear, problem.targets[:, 0], problem.inside(folds)).trace_one()
        scaled = actual.scaled(actual.trace)
        # what is left is the next term of the series, of relative size gamma d^2
        np.testing.assert_allclose(scaled.M, expected.M, rtol=1e-9 + 100 * 2.0**exponent)
        np.testing.assert_allclose(scaled.a, expected.a, rtol=1e-9 + 100 * 2.0**exponent)


def test_labels_that_are_all_zero_are_aligned_with_nothing() -> None:
    problem = make_problem(5, 12, 2, (-1, 1), 12)
    zero = np.zeros(12)
    sums, _ = sums_of(Problem(problem.features, zero[:, None], problem.bounds, problem.log2_gamma, 12))
    assert np.isnan(
        uncentered_alignments(sums, zero, 0, [0, 1], problem.bounds, np.full(problem.kernels, SHIFT), 0.0)
    ).all()
