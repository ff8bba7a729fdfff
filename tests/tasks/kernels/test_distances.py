import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_pipeline.tasks.kernels.distances import (
    MAX_LOSS,
    accurate_squared_distances,
    direct_columns,
    prepare_features,
    squared_distances,
)
from tests.tasks import dense

EPS = float(np.finfo(np.float64).eps)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 8)),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    offset=st.sampled_from([0.0, 5.0, 1e3]),
)
def test_squared_distances(seed: int, shape: tuple[int, int, int], scale: float, offset: float) -> None:
    rng = np.random.default_rng(seed)
    height, width, d = shape
    rows, columns = scale * rng.normal(size=(height, d)) + offset, scale * rng.normal(size=(width, d)) + offset
    columns[0] = rows[-1]
    before = rows.copy(), columns.copy()
    actual = squared_distances(rows, columns)
    assert actual.shape == (height, width)
    assert (actual >= 0).all()
    # a matrix product has an absolute error of some roundings of |x|^2 + |z|^2; smaller distances become 0
    sizes = (rows**2).sum(axis=1)[:, None] + (columns**2).sum(axis=1)[None, :]
    expected = dense.squared_distances(rows, columns)
    assert (np.abs(actual - expected) <= (d + 32) * EPS * sizes).all()
    np.testing.assert_array_equal(rows, before[0])
    np.testing.assert_array_equal(columns, before[1])


def test_a_row_is_at_distance_zero_from_itself() -> None:
    rng = np.random.default_rng(0)
    rows = 1e3 + rng.normal(size=(30, 7))
    assert not np.diag(squared_distances(rows, rows)).any()


@pytest.mark.parametrize("d", [1, 3, 8, 57, 500])
def test_equal_samples_are_at_distance_zero_in_any_number_of_columns(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(20):
        rows = rng.normal(size=(6, d)) + 10.0 * rng.normal(size=d)
        assert not np.diag(squared_distances(rows, rows.copy())).any()


def test_close_samples_are_not_treated_as_equal() -> None:
    # Squared distances of 1e-12 beside squared norms of 1, which the matrix product gives with an error of 0.5 %.
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(50, 4))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    step = rng.normal(size=(50, 4))
    columns = rows + 1e-6 * step / np.linalg.norm(step, axis=1)[:, None]
    np.testing.assert_allclose(np.diag(squared_distances(rows, columns)), 1e-12, rtol=5e-3)


def test_only_the_diagonal_of_a_square_with_itself_is_set_to_zero() -> None:
    # For two different arrays of the same shape, the distances on the diagonal are computed.
    rows, columns = np.array([[0.0], [1.0]]), np.array([[2.0], [4.0]])
    np.testing.assert_array_equal(squared_distances(rows, columns), [[4.0, 16.0], [1.0, 9.0]])
    np.testing.assert_array_equal(squared_distances(rows, rows), [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("d", [1, 4, 57, 400])
@pytest.mark.parametrize("gamma", [2.0**-12, 2.0**-7, 1.0, 2.0**6])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e7, 1e12])
def test_the_relative_error_of_kernel_values_is_limited(d: int, gamma: float, size: float) -> None:
    """One column has another size than the others; samples are in close pairs, whose kernel values are not 0."""
    rng = np.random.default_rng(d)
    features = rng.normal(size=(40, d)) / np.sqrt(d * gamma)
    features[:, 0] += size * rng.normal(size=40)
    features[20:] = features[:20] + 0.1 * rng.normal(size=(20, d)) / np.sqrt(d * gamma)
    prepared, direct = prepare_features(features, gamma)
    distances = squared_distances(prepared, prepared, direct)
    exponents = np.longdouble(gamma) * dense.squared_distances(features, features)
    seen = exponents < 700  # the others are 0
    assert seen.sum() > 40
    # the relative error of exp(-x) is the absolute error of x
    assert float(np.abs(gamma * distances - exponents)[seen].max()) <= MAX_LOSS
    assert len(direct_columns(features, gamma)) == direct


def test_only_columns_that_need_it_are_subtracted_directly() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(50, 6))
    assert not len(direct_columns(features, 8.0))
    features[:, 4] *= 1e7
    features[:, 1] += 1e7  # a large mean does not matter
    np.testing.assert_array_equal(direct_columns(features, 8.0), [4])
    features[3, 2] = 1e6  # one outlier is enough
    np.testing.assert_array_equal(direct_columns(features, 8.0), [2, 4])
    np.testing.assert_array_equal(direct_columns(features, 2.0**-60), [])
    prepared, direct = prepare_features(features, 8.0)
    assert direct == 2
    np.testing.assert_array_equal(prepared[:, -2:], features[:, [2, 4]])  # unchanged


def test_features_without_large_columns_are_only_centered() -> None:
    features = np.random.default_rng(0).normal(size=(30, 3)) + 5.0
    prepared, direct = prepare_features(features, 1.0)
    assert direct == 0
    np.testing.assert_array_equal(prepared, features - features.mean(axis=0))


def test_a_column_whose_squares_overflow() -> None:
    features = np.array([[0.0, 1e200], [1.0, 1e200], [0.0, -1e200]])
    prepared, direct = prepare_features(features, 1.0)
    with np.errstate(over="ignore"):
        distances = squared_distances(prepared, prepared, direct)
    np.testing.assert_array_equal(distances, [[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])


@pytest.mark.parametrize("d", [1, 16, 17, 60])
@pytest.mark.parametrize("kind", ["normal", "pairs", "clusters", "sizes"])
def test_squared_distances_are_accurate_in_every_entry(d: int, kind: str) -> None:
    rng = np.random.default_rng(d)
    features = rng.normal(size=(80, d)) + 5.0
    if kind == "pairs":  # few samples that are close; centering would round their differences
        features -= 5.0
        features[40] = features[0] + 1e-9 * rng.normal(size=d)
        features[41] = features[1]
    elif kind == "clusters":  # many close samples
        features = 1e-7 * features + rng.integers(0, 2, size=80)[:, None] * 1e3
    elif kind == "sizes":
        features *= 10.0 ** rng.uniform(-6, 7, size=d)
    blocks = accurate_squared_distances(features)
    expected = dense.squared_distances(features, features).astype(np.float64)
    halves = slice(0, 35), slice(35, 80)
    for rows, columns in [(halves[0], halves[0]), halves, (halves[1], halves[1])]:
        actual = blocks(rows, columns)
        np.testing.assert_allclose(actual, expected[rows, columns], rtol=4e-12)
        if rows == columns:
            np.testing.assert_array_equal(actual, actual.T)


@pytest.mark.parametrize("d", [2, 20])
def test_accurate_squared_distances_of_columns_whose_squares_overflow(d: int) -> None:
    features = np.zeros((3, d))
    features[:, 0], features[:, 1] = [0.0, 1.0, 0.0], [1e200, 1e200, -1e200]
    actual = accurate_squared_distances(features)(slice(0, 3), slice(0, 3))
    np.testing.assert_array_equal(actual, [[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
