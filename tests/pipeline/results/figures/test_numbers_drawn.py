"""The numbers behind figures equal independent computations."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

import kernel_pipeline as kp
from kernel_pipeline.results.figures.centering_example import example_alignments
from kernel_pipeline.results.figures.differences import differences
from kernel_pipeline.results.figures.ranks import critical_difference, groups
from kernel_pipeline.results.paired_tests import LEVEL
from kernel_pipeline.results.tables import comparison as comparisons
from kernel_pipeline.results.view import Results
from kernel_pipeline.run.run_results import RunResults
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.drawn import context_of
from tests.pipeline.results.conftest import Drawn


def test_kernel_alignments_equal_those_of_dense_kernels(drawn: Drawn) -> None:
    root, plan, finished = drawn
    found = Results(context_of(root, plan, finished)).kernel_alignments("wave1", "regression")
    store, results = RunStore(LocalStorage(root)), RunResults(LocalStorage(root))
    order, fold = (store.read(GRAM, f"wave1/{name}") for name in ("order", "fold"))
    kernels = [results.gram("wave1", name) for name in plan.datasets[1].kernels]
    expected = []
    for trial in range(3):
        train = order[(fold != trial) & (fold != (trial + 1) % 3)]
        center = np.eye(len(train)) - 1 / len(train)
        centered = [(center @ kernel[np.ix_(train, train)] @ center).ravel() for kernel in kernels]
        units = [kernel / np.linalg.norm(kernel) for kernel in centered]
        expected.append([[first @ second for second in units] for first in units])
    assert found is not None
    np.testing.assert_allclose(found, np.mean(expected, axis=0), atol=1e-10)


def test_mean_weights_are_the_means_of_the_stored_ones(drawn: Drawn) -> None:
    root, plan, finished = drawn
    found = Results(context_of(root, plan, finished)).mean_weights("wave2", "regression")
    assert list(found) == ["unif", "alignf", "best-kernel", "l2-krr"]
    np.testing.assert_allclose(found["unif"], np.full(4, 0.25), atol=1e-15)
    assert np.count_nonzero(found["best-kernel"]) <= 3
    assert found["l2-krr"].sum() == pytest.approx(1)


def test_the_critical_difference() -> None:
    # Demsar, "Statistical comparisons of classifiers over multiple data sets", Table 5: q = 2.569 for four methods.
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_differences_are_those_of_the_rows_with_the_intervals_of_the_t_distribution(drawn: Drawn) -> None:
    context = context_of(*drawn)
    results = Results(context)
    rows, comparison = (dict(results.parts(name))["wave0", "regression"] for name in ("rows", "comparison"))
    chosen = results.best_methods["wave0", "regression"]
    found = differences(chosen, comparison, rows)
    assert len(found) == 3
    for difference in found:
        first, best = (rows[rows["method"] == name]["error"].to_numpy() for name in (difference.method, chosen.method))
        np.testing.assert_allclose(difference.trials, first - best)
        assert difference.mean == pytest.approx((first - best).mean())
        # Without the correction, the interval of the paired t-test is narrower by a known factor.
        plain = ttest_rel(first, best).confidence_interval(1 - LEVEL)
        ratio = comparisons.test_ratio(context.store, drawn[1].datasets[0])
        factor = np.sqrt((1 / 3 + ratio) / (1 / 3))
        assert difference.upper - difference.lower == pytest.approx(factor * (plain.high - plain.low))


def test_groups_are_the_maximal_sets_within_the_critical_difference() -> None:
    ranks = [1.0, 1.4, 2.1, 2.2, 4.0]
    brute = {
        (i, j)
        for i in range(5)
        for j in range(i + 1, 5)
        if ranks[j] - ranks[i] < 1.0
        and (i == 0 or ranks[j] - ranks[i - 1] >= 1.0)
        and (j == 4 or ranks[j + 1] - ranks[i] >= 1.0)
    }
    assert set(groups(ranks, 1.0)) == brute == {(0, 1), (1, 3)}


def test_the_centering_example_equals_alignments_of_sampled_points() -> None:
    for share in (0.25, 0.5, 0.9):
        x = np.where(np.arange(400) < 400 * share, -1.0, 1.0)
        kernel, target = np.outer(x, x) + 1, np.outer(x, x)
        center = np.eye(400) - 1 / 400
        centered, centered_target = center @ kernel @ center, center @ target @ center
        expected = (
            np.sum(kernel * target) / np.linalg.norm(kernel) / np.linalg.norm(target),
            np.sum(centered * centered_target) / np.linalg.norm(centered) / np.linalg.norm(centered_target),
        )
        found = example_alignments(np.array([share]))
        np.testing.assert_allclose([values[0] for values in found], expected, atol=1e-12)


def test_the_figure_of_centering_shows_both_alignments_for_all_shares() -> None:
    points, curves = kp.draw_centering_example().axes
    samples = [np.asarray(line.get_xydata()).tolist() for line in points.get_lines()[:2]]
    assert samples == [[[-1.0, 0.0]], [[1.0, 0.0]]]
    alpha = np.linspace(0, 1, 101)
    drawn = [np.asarray(line.get_xydata()) for line in curves.get_lines()]
    for line, expected in zip(drawn, reversed(example_alignments(alpha)), strict=True):
        np.testing.assert_array_equal(line, np.stack([alpha, expected], axis=1))
