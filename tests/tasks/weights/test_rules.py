from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.best_kernel import BestKernel
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from kernel_pipeline.tasks.weights.unif import Unif
from tests.tasks import dense
from tests.tasks.dense import Extended, Floats
from tests.tasks.methods import RULES


def make_kernels(seed: int, p: int, m: int = 30) -> tuple[Extended, Floats]:
    """Return Gaussians, and labels of three kinds: classes, a smooth function, noise."""
    rng = np.random.default_rng(seed)
    features = 10.0 ** rng.uniform(-0.5, 0.5) * rng.normal(size=(m, int(rng.integers(1, 6))))
    smooth = np.sin(features.sum(axis=1)) + 0.2 * rng.normal(size=m)
    labels = [np.where(smooth > 0.1, 1.0, -1.0), smooth + 3.0, rng.normal(size=m)][seed % 3]
    lo = int(rng.integers(-8, 1 - p // 2))
    return dense.gaussians(features, (lo, lo + p - 1)), labels


def statistics_of(kernels: Extended, labels: Floats) -> Statistics:
    """Return the statistics of kernels scaled to trace one, by the dense reference."""
    one = dense.dense_statistics(kernels, labels, np.arange(len(labels))).trace_one()
    return Statistics(one.M, one.a, one.trace, one.label_norm)


def without(stats: Statistics, dead: Sequence[int]) -> Statistics:
    alive = np.ones(len(stats.a))
    alive[list(dead)] = 0.0
    return Statistics(stats.M * np.outer(alive, alive), stats.a * alive, stats.trace * alive, stats.label_norm)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 16))
def test_alignf_is_never_less_aligned_than_others(seed: int, p: int) -> None:
    kernels, labels = make_kernels(seed, p)
    stats = statistics_of(kernels, labels)
    mu, certificate = Alignf().weights(GramStatistics(stats))
    assert certificate <= 1e-9
    rng = np.random.default_rng(seed)
    rivals = [
        Unif().weights(GramStatistics(stats))[0],
        Align().weights(GramStatistics(stats))[0],
        BestKernel().weights(GramStatistics(stats))[0],
        *np.eye(p),
        *rng.dirichlet(np.ones(p), size=20),
    ]
    # computed from the kernels themselves, not from M and a, which alignf uses
    one = kernels / np.trace(dense.centered(kernels), axis1=1, axis2=2)[:, None, None]
    mine = dense.centered_alignment(np.tensordot(mu.astype(np.longdouble), one, axes=1), labels)
    assert mine == pytest.approx(alignment(stats, mu), rel=1e-9)
    assert all(mine >= alignment(stats, rival) * (1 - 1e-9) for rival in rivals)


def test_alignf_is_better_aligned_than_align_on_some_problem() -> None:
    gains = []
    for seed in range(12):
        stats = statistics_of(*make_kernels(seed, 10))
        best, _ = Alignf().weights(GramStatistics(stats))
        plain, _ = Align().weights(GramStatistics(stats))
        gains.append(alignment(stats, best) / alignment(stats, plain))
    assert max(gains) > 1.01


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(6))
def test_weights_are_nonnegative_and_sum_to_one(rule: str, seed: int) -> None:
    stats = statistics_of(*make_kernels(seed, 8))
    mu, certificate = RULES[rule].weights(GramStatistics(stats))
    assert mu.shape == (8,)
    assert (mu >= 0).all() or rule == "alignf-linear"
    assert np.abs(mu).sum() == pytest.approx(1.0, rel=1e-14)
    assert 0 <= certificate <= (1e-6 if rule == "alignf-linear" else 1e-9)  # a may be outside of the range of M
    if not rule.startswith("alignf") and rule != "hsic":
        assert certificate == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_align_is_proportional_to_each_kernels_alignment(seed: int) -> None:
    kernels, labels = make_kernels(seed, 8)
    mu, _ = Align().weights(GramStatistics(statistics_of(kernels, labels)))
    rho = np.array([dense.centered_alignment(kernel, labels) for kernel in kernels])
    np.testing.assert_allclose(mu, rho / rho.sum(), rtol=1e-9)


def trace_one_products(kernels: dense.Extended, labels: Floats) -> Floats:
    """Return <K_k, yy'> of the kernels, centered and scaled to trace one, (p,)."""
    label_kernel = dense.centered_label_kernel(labels)
    centered = [dense.centered(kernel) for kernel in kernels]
    return np.array([float(dense.frobenius(kernel, label_kernel) / np.trace(kernel)) for kernel in centered])


@pytest.mark.parametrize("q", [1.1, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("seed", range(25))
def test_align_with_q_solves_problem_4_for_trace_one_kernels(seed: int, q: float) -> None:
    """Maximize <sum mu_k K_k, yy'> such that sum mu_k^q <= 1; the value is the norm of the products dual to L_q."""
    kernels, labels = make_kernels(seed, 1 + seed % 6)
    products = trace_one_products(kernels, labels)
    mu, certificate = Align(q).weights(GramStatistics(statistics_of(kernels, labels)))
    assert certificate == 0.0
    assert mu.sum() == pytest.approx(1.0)
    scaled = mu / float((mu**q).sum() ** (1 / q))
    conjugate = q / (q - 1)
    relative = products / products.max()
    optimum = float(products.max() * (relative**conjugate).sum() ** (1 / conjugate))
    assert float(products @ scaled) == pytest.approx(optimum, rel=1e-9)


def test_align_with_q_from_the_largest_product_to_equal_weights() -> None:
    kernels, labels = make_kernels(1, 8)
    products = trace_one_products(kernels, labels)
    largest = np.eye(8)[int(np.argmax(products))]
    stats = statistics_of(kernels, labels)
    np.testing.assert_array_equal(Align(1.0).weights(GramStatistics(stats))[0], largest)
    with np.errstate(all="raise", under="ignore"):
        almost, _ = Align(1.0 + 1e-6).weights(GramStatistics(stats))
        equal, _ = Align(1e6).weights(GramStatistics(stats))
    np.testing.assert_allclose(almost, largest, atol=1e-6)
    np.testing.assert_allclose(equal, Unif().weights(GramStatistics(stats))[0], atol=1e-4)


def test_align_differs_from_align_with_q_2_unless_the_kernels_have_equal_norms() -> None:
    stats = Statistics(np.diag([1.0, 4.0]), np.array([1.0, 1.0]), np.ones(2), 1.0)
    np.testing.assert_allclose(Align().weights(GramStatistics(stats))[0], [2 / 3, 1 / 3])  # equation 3: a_k / ||K_k||_F
    np.testing.assert_allclose(Align(2.0).weights(GramStatistics(stats))[0], [0.5, 0.5])  # problem 4: a_k


@pytest.mark.parametrize("q", [1.001, 2.0, 100.0])
def test_align_with_q_of_tiny_and_missing_alignments(q: float) -> None:
    # powers with an exponent of 1000 neither overflow nor make all weights 0
    stats = Statistics(np.diag([1.0, 1.0, 1.0, 0.0]), np.array([1e-200, 1e-201, 0.0, 0.0]), np.ones(4), 1.0)
    mu, _ = Align(q).weights(GramStatistics(stats))
    assert np.isfinite(mu).all()
    assert mu.sum() == pytest.approx(1.0)
    assert mu[0] > mu[1] >= 0
    assert mu[2] == mu[3] == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_best_kernel_is_the_most_aligned(seed: int) -> None:
    kernels, labels = make_kernels(seed, 8)
    mu, _ = BestKernel().weights(GramStatistics(statistics_of(kernels, labels)))
    rho = [dense.centered_alignment(kernel, labels) for kernel in kernels]
    np.testing.assert_array_equal(mu, np.eye(8)[int(np.argmax(rho))])


def test_the_problems_above_do_not_all_have_the_same_best_kernel() -> None:
    statistics = [GramStatistics(statistics_of(*make_kernels(seed, 8))) for seed in range(6)]
    best = {int(np.argmax(BestKernel().weights(found)[0])) for found in statistics}
    assert len(best) > 1


def test_best_kernel_is_the_first_of_equally_aligned_ones() -> None:
    stats = Statistics(np.diag([1.0, 4.0, 4.0, 1.0]), np.array([0.1, 0.6, 0.6, 0.2]), np.ones(4), 1.0)
    np.testing.assert_array_equal(BestKernel().weights(GramStatistics(stats))[0], [0.0, 1.0, 0.0, 0.0])


def test_unif_leaves_out_constant_kernels() -> None:
    stats = without(statistics_of(*make_kernels(0, 6)), [1, 4])
    np.testing.assert_array_equal(Unif().weights(GramStatistics(stats))[0], [0.25, 0.0, 0.25, 0.25, 0.0, 0.25])


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_constant_kernels_get_no_weight_and_do_not_affect_the_others(rule: str, seed: int) -> None:
    whole = statistics_of(*make_kernels(seed, 7))
    alive = np.array([0, 2, 3, 5])
    few = Statistics(whole.M[np.ix_(alive, alive)], whole.a[alive], whole.trace[alive], whole.label_norm)
    mu, certificate = RULES[rule].weights(GramStatistics(without(whole, [1, 4, 6])))
    assert not mu[[1, 4, 6]].any()
    np.testing.assert_allclose(mu[alive], RULES[rule].weights(GramStatistics(few))[0], rtol=1e-9, atol=1e-12)
    assert certificate <= 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("label_factor", [1e-6, 1e6])
def test_the_units_of_the_labels_do_not_matter(rule: str, label_factor: float) -> None:
    kernels, labels = make_kernels(1, 5)
    expected, _ = RULES[rule].weights(GramStatistics(statistics_of(kernels, labels)))
    actual, _ = RULES[rule].weights(GramStatistics(statistics_of(kernels, label_factor * labels)))
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-9)


def orthogonal_labels() -> Statistics:
    stats = statistics_of(*make_kernels(0, 4))
    return Statistics(stats.M, np.zeros(4), stats.trace, stats.label_norm)


@pytest.mark.parametrize("rule", ["align", "alignf", "alignf-linear", "best-kernel"])
def test_labels_orthogonal_to_every_kernel_leave_no_weights(rule: str) -> None:
    with pytest.raises(NoWeightsError, match="aligned with its labels"):
        RULES[rule].weights(GramStatistics(orthogonal_labels()))


def test_unif_does_not_depend_on_labels() -> None:
    np.testing.assert_array_equal(Unif().weights(GramStatistics(orthogonal_labels()))[0], np.full(4, 0.25))


@pytest.mark.parametrize("rule", RULES)
def test_kernels_that_are_all_constant_leave_no_weights(rule: str) -> None:
    with pytest.raises(NoWeightsError, match="no kernel varies"):
        RULES[rule].weights(GramStatistics(without(statistics_of(*make_kernels(0, 3)), [0, 1, 2])))


@pytest.mark.parametrize("rule", ["align", "alignf", "alignf-linear", "best-kernel"])
def test_constant_labels_leave_no_weights(rule: str) -> None:
    kernels, labels = make_kernels(0, 3)
    stats = statistics_of(kernels, labels)
    with pytest.raises(NoWeightsError):
        RULES[rule].weights(GramStatistics(Statistics(stats.M, np.zeros(3), stats.trace, 0.0)))
