"""The variants of `alignf`, compared with clarabel and closed forms."""

import clarabel
import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.statistics.statistics import Statistics
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.alignf_plus import AlignfPlus
from kernel_pipeline.tasks.weights.alignf_ridge import AlignfRidge
from kernel_pipeline.tasks.weights.bounded_qp import bounded_qp, bounded_residual, steepest_ray
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from kernel_pipeline.tasks.weights.hsic import Hsic, hsic_residual
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics
from tests.tasks.dense import Floats
from tests.tasks.weights.quadratic_programs import PROGRAMS, objective, well_conditioned

SEEDS = range(12)


def clarabel_qp(M: Floats, a: Floats, rows: Floats) -> Floats:
    """Minimise `v'Mv - 2 v'a` such that `rows @ v <= 0`, with M scaled to a unit diagonal."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    norms = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    unit, size = M / np.outer(norms, norms), float(np.abs(a / norms).max())
    solver = clarabel.DefaultSolver(
        scipy.sparse.csc_matrix(np.triu(2.0 * unit)),
        -2.0 * a / norms / size,
        scipy.sparse.csc_matrix(rows / norms),
        np.zeros(len(rows)),
        [clarabel.NonnegativeConeT(len(rows))],
        settings,
    )
    return np.asarray(solver.solve().x) * size / norms


def statistics(M: Floats, a: Floats) -> GramStatistics:
    return GramStatistics(Statistics(M, a, (np.diag(M) > 0).astype(np.float64), 1.0))


@pytest.mark.parametrize("upper", [0.15, 0.3, 0.7])
@pytest.mark.parametrize("kind", list(PROGRAMS))
@pytest.mark.parametrize("seed", SEEDS)
def test_bounded_weights_are_those_of_clarabel(kind: str, seed: int, upper: float) -> None:
    M, a = PROGRAMS[kind](seed)
    varying = np.diag(M) > 0
    bound = max(upper, 1.0 / varying.sum())
    if steepest_ray(-a[varying], np.full(varying.sum(), bound)) @ a[varying] <= 0:
        with pytest.raises(NoWeightsError):  # no feasible weights have a positive alignment
            AlignfPlus(upper=upper).weights(statistics(M, a))
        return
    mu, certificate = AlignfPlus(upper=upper).weights(statistics(M, a))
    assert certificate <= 1e-9
    assert mu.sum() == pytest.approx(1.0)
    assert mu.min() >= 0.0
    assert mu.max() <= bound + 1e-12
    p = len(a)
    reference = clarabel_qp(M, a, np.vstack([-np.eye(p), np.eye(p) - bound, np.diag(~varying * 1.0)]))
    v, _ = bounded_qp(M, a, np.full(p, upper))
    size = abs(objective(M, a, reference))
    assert objective(M, a, v) <= objective(M, a, reference) + 1e-7 * size
    # The solution in the direction of the weights has the largest alignment of all feasible ones.
    mine = mu @ a / np.sqrt(mu @ M @ mu)
    assert mine >= reference @ a / np.sqrt(reference @ M @ reference) * (1.0 - 1e-7)


def test_a_bound_of_one_gives_alignf_and_a_small_one_uniform_weights() -> None:
    found = statistics(*well_conditioned(3, p=6))
    np.testing.assert_allclose(AlignfPlus(upper=1.0).weights(found)[0], Alignf().weights(found)[0], atol=1e-10)
    np.testing.assert_allclose(AlignfPlus(upper=0.01).weights(found)[0], 1 / 6)


def test_the_residual_of_bounded_weights_detects_wrong_ones() -> None:
    M, a = well_conditioned(3, p=6)
    upper = np.full(6, 0.3)
    v, residual = bounded_qp(M, a, upper)
    assert residual == bounded_residual(M, a, upper, v) <= 1e-12
    assert bounded_residual(M, a, upper, 1.01 * v) > 1e-4
    assert bounded_residual(M, a, upper, np.full(6, v.mean())) > 1e-4
    free, _ = bounded_qp(M, a, np.ones(6))
    assert free.max() > 0.3 * free.sum()
    assert bounded_residual(M, a, upper, free) > 1e-3
    assert bounded_residual(M, a, upper, np.zeros(6)) > 1e-1


@pytest.mark.parametrize("ridge", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("kind", list(PROGRAMS))
@pytest.mark.parametrize("seed", SEEDS)
def test_ridge_weights_are_those_of_clarabel(kind: str, seed: int, ridge: float) -> None:
    M, a = PROGRAMS[kind](seed)
    varying = np.diag(M) > 0
    mu, certificate = AlignfRidge(ridge=ridge).weights(statistics(M, a))
    assert certificate <= 1e-9
    ridged = M + ridge * np.diag(M)[varying].mean() * np.diag(varying * 1.0)
    reference = clarabel_qp(ridged, a, np.vstack([-np.eye(len(a)), np.diag(~varying * 1.0)]))
    v, _ = statistics(M, a).ridge_solution(ridge)
    assert objective(ridged, a, v) <= objective(ridged, a, reference) + 1e-9 * abs(objective(ridged, a, reference))
    np.testing.assert_allclose(mu, reference / reference.sum(), rtol=0, atol=1e-4)
    np.testing.assert_allclose(mu, v / v.sum(), rtol=0, atol=1e-15)


def test_ridge_weights_of_limits() -> None:
    M, a = well_conditioned(3, p=6)
    found = statistics(M, np.abs(a))
    np.testing.assert_allclose(AlignfRidge(ridge=1e-12).weights(found)[0], Alignf().weights(found)[0], atol=1e-8)
    np.testing.assert_allclose(AlignfRidge(ridge=1e9).weights(found)[0], Align(q=2.0).weights(found)[0], atol=1e-7)


def rank_one(seed: int) -> tuple[RankOneStatistics, GramStatistics]:
    """Return the same kernels as columns, of which some are equal and one is constant, and with M."""
    rng = np.random.default_rng(seed)
    columns = rng.poisson(0.7, size=(25, 14)).astype(np.float64)
    columns[:, 5], columns[:, 9], columns[:, 11] = columns[:, 2], columns[:, 2], 1.0
    labels = columns[:, 2] + columns[:, 3] + 0.3 * rng.normal(size=25)
    kernels = RankOneKernels.of(scipy.sparse.csr_array(columns))
    found = RankOneStatistics(kernels, (labels - labels.mean())[:, None])
    M = kernels.products()
    return found, GramStatistics(Statistics(M, found.label_products(), kernels.trace, 1.0))


@pytest.mark.parametrize("rule", [AlignfPlus(upper=0.2), AlignfPlus(upper=0.6), AlignfRidge(ridge=0.2), Hsic()])
@pytest.mark.parametrize("seed", range(4))
def test_columns_have_the_weights_of_their_kernels(seed: int, rule: AlignfPlus | AlignfRidge | Hsic) -> None:
    columns, gram = rank_one(seed)
    mu, certificate = rule.weights(columns)
    assert certificate <= 1e-9
    expected, _ = rule.weights(gram)
    assert mu[11] == 0.0
    assert mu[2] == mu[5] == mu[9]
    groups = [[2, 5, 9], *([k] for k in range(14) if k not in (2, 5, 9))]
    sums, others = ([float(weights[group].sum()) for group in groups] for weights in (mu, expected))
    np.testing.assert_allclose(sums, others, rtol=0, atol=1e-8)


def test_hsic_weights_solve_their_problem() -> None:
    M, a = well_conditioned(3, p=6)
    a = np.abs(a)
    mu, certificate = Hsic().weights(statistics(M, a))
    assert certificate <= 1e-15
    np.testing.assert_allclose(mu, Align(q=2.0).weights(statistics(M, a))[0], rtol=1e-14)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    constraints = scipy.sparse.csc_matrix(np.vstack([-np.eye(6), np.zeros((1, 6)), -np.eye(6)]))
    bounds = np.concatenate([np.zeros(6), [1.0], np.zeros(6)])
    cones = [clarabel.NonnegativeConeT(6), clarabel.SecondOrderConeT(7)]
    solver = clarabel.DefaultSolver(scipy.sparse.csc_matrix((6, 6)), -a, constraints, bounds, cones, settings)
    reference = np.asarray(solver.solve().x)
    np.testing.assert_allclose(mu, reference / reference.sum(), rtol=0, atol=1e-6)
    assert hsic_residual(a, np.full(6, 1 / 6)) > 1e-3


@pytest.mark.parametrize("rule", [AlignfPlus(), AlignfRidge(), Hsic()])
def test_without_aligned_kernels_there_are_no_weights(rule: AlignfPlus | AlignfRidge | Hsic) -> None:
    with pytest.raises(NoWeightsError):
        rule.weights(statistics(np.eye(3), np.zeros(3)))
