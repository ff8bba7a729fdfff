"""Properties of every family, over shapes, blocks, tiles and groups of columns."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_pipeline.tasks.kernels.chi_squared import ChiSquaredFamily
from kernel_pipeline.tasks.kernels.cosine import CosineFamily
from kernel_pipeline.tasks.kernels.family import GramFamily, Samples, kernel_names, kernel_shifts, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.matern import MaternFamily
from kernel_pipeline.tasks.kernels.polynomial import PolynomialFamily
from kernel_pipeline.tasks.kernels.rational_quadratic import RationalQuadraticFamily
from kernel_pipeline.tasks.kernels.view import View
from kernel_pipeline.tasks.statistics.statistics import statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from tests.tasks import dense
from tests.tasks.dense import Floats
from tests.tasks.kernels.references import assembled, by_scikit_learn, extended, gram

FAMILIES: list[GramFamily] = [
    GaussianFamily(log2_gamma=(-4, 1)),
    GaussianFamily(gamma=(0.3, 0.1, 0.6)),
    LaplacianFamily(),
    LaplacianFamily(gamma=(0.05, 0.1, 0.7)),
    MaternFamily(nu=(0.5, 1.5, 2.5), length_scale=(4.0, 2.0, 0.7)),
    RationalQuadraticFamily(length_scale=(0.5, 3.0), alpha=(0.5, 2.0)),
    LinearFamily(),
    PolynomialFamily(),
    PolynomialFamily(degree=(1, 2, 4), gamma=(0.1, 0.5), coef0=(0.0, 2.0)),
    CosineFamily(),
    ChiSquaredFamily(gamma=(0.25, 0.5, 2.0)),
]


@st.composite
def feature_matrices(draw: st.DrawFn, max_samples: int) -> Floats:
    """Draw features that are not negative, with samples that are close, equal and 0."""
    m, d = draw(st.integers(1, max_samples), label="m"), draw(st.integers(1, 24), label="d")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    features = np.abs(draw(st.sampled_from([0.1, 1.0, 3.0])) * rng.normal(size=(m, d)) / np.sqrt(d))
    features[m // 2] = features[0] + 1e-6 * rng.random(d)
    features[m // 3] = features[m - 1]
    if draw(st.booleans()):
        features[rng.integers(m)] = 0.0
    return np.asarray(features)


@st.composite
def families_of(draw: st.DrawFn, d: int) -> list[GramFamily]:
    """Draw some families, some of them on a group of columns."""
    chosen = draw(st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=4, unique_by=id), label="families")
    groups = st.none() | st.lists(st.integers(0, d - 1), min_size=1, unique=True).map(tuple)
    return [View(family, draw(groups, label="columns"), str(number)) for number, family in enumerate(chosen)]


@settings(max_examples=60, deadline=None)
@given(data=st.data(), features=feature_matrices(max_samples=40))
def test_gram_matrices_are_symmetric_and_equal_those_of_scikit_learn(data: st.DataObject, features: Floats) -> None:
    m, d = features.shape
    families = data.draw(families_of(d))
    cuts = sorted(data.draw(st.sets(st.integers(1, m - 1), max_size=4), label="cuts")) if m > 1 else []
    kernels = gram(families, features, cuts)
    np.testing.assert_array_equal(kernels, kernels.transpose(0, 2, 1))
    expected = [kernel for family in families for kernel in by_scikit_learn(family, features)]
    for name, kernel, other in zip(kernel_names(families), kernels, expected, strict=True):
        scale = max(1.0, float(np.abs(other).max()))
        np.testing.assert_allclose(kernel, other, rtol=0, atol=1e-12 * scale, err_msg=name)
        assert np.linalg.eigvalsh(kernel)[0] >= -1e-13 * m * scale, name


@settings(max_examples=40, deadline=None)
@given(data=st.data(), features=feature_matrices(max_samples=30).filter(lambda features: len(features) >= 9))
def test_statistics_equal_those_of_whole_matrices(data: st.DataObject, features: Floats) -> None:
    m, d = features.shape
    families = data.draw(families_of(d))
    tile = data.draw(st.integers(1, m + 3), label="tile")
    bounds = np.array([0, m // 3, m // 2, m])
    target = np.sin(3.0 * features[:, 0]) + (np.arange(float(m)) % 2.0)
    shifts = np.array(kernel_shifts(families))
    sums = Sums.zeros(3, len(shifts), 1, m)
    fill = prepare_families(families, Samples(features))
    spans = [slice(*ends) for ends in pairwise([*range(0, m, tile), m])]
    for number, rows in enumerate(spans):
        for columns in spans[number:]:
            values = np.full((len(shifts), rows.stop - rows.start, columns.stop - columns.start), np.nan)
            add_tile(sums, fill, target[:, None], bounds, (rows, columns), values)
    shifted = np.array([kernel for family in families for kernel in extended(family, features)])
    for folds in ([0, 2], [1, 2], [2]):
        inside = np.concatenate([np.arange(bounds[fold], bounds[fold + 1]) for fold in folds])
        actual = statistics(sums, target[:, None], [0], folds, bounds)
        expected = dense.dense_statistics(shifted, target, inside)
        norms = np.linalg.norm(shifted[:, inside[:, None], inside].astype(np.float64), axis=(1, 2))
        # A kernel that is constant up to rounding has no statistics.
        assert (expected.trace[~actual.varies] <= 1e-12 * len(inside) * norms[~actual.varies]).all()
        norms = norms * actual.varies
        slack = 1e-12 * np.outer(norms, norms)
        alive = np.outer(actual.varies, actual.varies)
        assert (np.abs(actual.M - expected.M * alive) <= 1e-9 * np.abs(expected.M) + slack).all()
        a, trace = expected.a * actual.varies, expected.trace * actual.varies
        assert (np.abs(actual.a - a) <= 1e-9 * a + 1e-12 * norms * (target[inside] @ target[inside])).all()
        assert (np.abs(actual.trace - trace) <= 1e-9 * trace + 1e-12 * norms).all()


WIDE: list[GramFamily] = [
    GaussianFamily(gamma=(1e-16, 2e-16, 3e-14)),
    LaplacianFamily(gamma=(1e-9, 2e-9, 3e-7)),
    MaternFamily(nu=(0.5, 1.5, 2.5), length_scale=(1e10, 5e9, 1e8, 3e6)),
    RationalQuadraticFamily(length_scale=(1e9, 1e7), alpha=(0.5, 3.0)),
    CosineFamily(),
    ChiSquaredFamily(gamma=(1e-9, 2e-9, 3e-7)),
]


@pytest.mark.parametrize("columns", [4, 20])
@pytest.mark.parametrize("family", [*FAMILIES, *WIDE], ids=lambda family: family.names()[0])
def test_columns_of_extreme_sizes_give_accurate_entries(family: GramFamily, columns: int) -> None:
    rng = np.random.default_rng(columns)
    features = rng.random((30, columns))
    features[:, 1] *= 1e-6
    features[:, 2] *= 1e7
    features[15:] = features[:15] + rng.random((15, columns)) * np.array([0.1, 1e-7, *[0.1] * (columns - 2)])
    actual = assembled([family], features, cuts=(7, 20))
    expected = np.array(extended(family, features))
    for kernel, other in zip(actual, expected.astype(np.float64), strict=True):
        # A Gaussian kernel may take its distances from a matrix product, which is accurate compared with most of them.
        typical = float(np.median(np.abs(other))) if isinstance(family, GaussianFamily) else 0.0
        np.testing.assert_allclose(kernel, other, rtol=1e-9, atol=1e-9 * typical)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.names()[0])
def test_one_sample_and_one_column_are_enough(family: GramFamily) -> None:
    kernels = gram([family], np.array([[2.0]]))
    expected = np.array(by_scikit_learn(family, np.array([[2.0]])))
    np.testing.assert_allclose(kernels, expected, rtol=1e-14)
