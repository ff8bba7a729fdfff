"""Small problems with Gaussian kernels, their sums over tiles, and the rounding that their statistics may have."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernel_pipeline.tasks.kernels.distances import squared_distances
from kernel_pipeline.tasks.kernels.exponentials import shifted_exponentials
from kernel_pipeline.tasks.kernels.family import Fill
from kernel_pipeline.tasks.statistics.statistics import Statistics, statistics
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
    """Label columns, (m, T)."""
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

    def blocks(self) -> list[list[int]]:
        """Return each label column alone, and all of them as one block."""
        columns = list(range(self.targets.shape[1]))
        return [[column] for column in columns] + ([columns] if len(columns) > 1 else [])

    def sets(self) -> list[list[int]]:
        """Return the training folds of every trial, and every test fold."""
        folds = range(self.folds)
        training = [[f for f in folds if f not in (t, (t + 1) % self.folds)] for t in folds]
        return training + [[t] for t in folds]


def gaussian_family(log2_gamma: tuple[int, int], rows: Floats, columns: Floats, out: Floats) -> None:
    shifted_exponentials(gammas(log2_gamma).tolist())(squared_distances(rows, columns), out)


def filling(problem: Problem, family: Family = gaussian_family) -> Fill:
    """Return a function that computes blocks of the kernels of a problem from its unchanged features."""

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        x = problem.features[rows]
        family(problem.log2_gamma, x, x if rows == columns else problem.features[columns], out)

    return fill


def sums_of(problem: Problem, family: Family = gaussian_family) -> tuple[Sums, Floats]:
    """Return the sums over all tiles, and the assembled tiles; entries that no tile covers are NaN."""
    m, p = len(problem.features), problem.kernels
    sums = Sums.zeros(problem.folds, p, problem.targets.shape[1], m)
    gram = np.full((p, m, m), np.nan)
    spans = [slice(start, min(start + problem.tile, m)) for start in range(0, m, problem.tile)]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            # NaN, so that an entry that is not written is detected
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
    """Return a problem with normal features, of which the first target is a function; the second has random classes."""
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
    # tiles of one sample, tiles across folds with a remainder, and tiles larger than the data
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
    """Return bounds on the rounding errors of all entries, (p, m, m).

    Distances are computed as |x|^2 + |z|^2 - 2 x.z, which loses digits if two samples are close compared with their
    norms: the absolute error is some eps (|x|^2 + |z|^2), multiplied by gamma. The reference is rounded near 1, too.
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
    """Check every entry to a relative error of 1e-9, with an allowance for rounding of the sums.

    The allowance is a first-order analysis, with e_k = ||errors of E_k||_F: M_kl changes by e_k ||E_l|| + e_l ||E_k||,
    a_k by e_k ||y||^2 and trace_k by e_k. It is some 1e-13 of these products, so it matters only if M, a or a trace is
    the result of cancellation: close pairs in a fold of two, or labels that are orthogonal to a kernel.
    """
    rtol, n, label_squares = 1e-9, len(labels), float(np.vdot(labels, labels))
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
        return  # a trace that is mostly rounding cannot be a divisor
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
        for columns in problem.blocks():
            target = problem.targets[:, columns]
            actual = statistics(sums, problem.targets, columns, folds, problem.bounds)
            expected = dense.dense_statistics(reference, target, inside)
            # the sums contain these labels without centering, so rounding is relative to them
            assert_close_statistics(actual, expected, norms, errors, target[inside])
