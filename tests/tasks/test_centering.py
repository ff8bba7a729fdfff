import numpy as np
import pytest
from sklearn.preprocessing import KernelCenterer

from kernel_pipeline.tasks.centering import center_on, positive_part
from tests.tasks import dense
from tests.tasks.dense import Floats, Integers


def make_kernel(seed: int, m: int, n: int) -> tuple[Floats, Integers]:
    rng = np.random.default_rng(seed)
    kernel = dense.gaussians(rng.normal(size=(m, 3)), (-3, -3))[0].astype(np.float64)
    return kernel, rng.permutation(m)[:n]  # shuffled, since a training set need not be first or sorted


@pytest.mark.parametrize("n", [1, 2, 7, 25])
def test_against_the_definition(n: int) -> None:
    kernel, train = make_kernel(0, 25, n)
    actual = center_on(kernel, train)
    assert actual.shape == (25, n)
    expected = dense.centered(kernel[np.ix_(train, train)].astype(np.longdouble))
    np.testing.assert_allclose(actual[train], expected.astype(np.float64), rtol=0, atol=1e-15 * 25)
    # rows and columns of the centered training kernel sum to zero
    np.testing.assert_allclose(actual[train].sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(actual.sum(axis=1), 0.0, atol=1e-13)


@pytest.mark.parametrize("n", [1, 5, 18])
def test_against_scikit_learn_for_training_and_held_out_samples(n: int) -> None:
    kernel, train = make_kernel(1, 30, n)
    held_out = np.setdiff1d(np.arange(30), train)
    actual = center_on(kernel, train)
    centerer = KernelCenterer().fit(kernel[np.ix_(train, train)])
    for rows in (train, held_out):
        expected = centerer.transform(kernel[np.ix_(rows, train)])
        np.testing.assert_allclose(actual[rows], expected, rtol=0, atol=1e-14)


def test_held_out_samples_do_not_affect_the_means() -> None:
    kernel, train = make_kernel(2, 20, 12)
    held_out = np.setdiff1d(np.arange(20), train)
    changed = kernel.copy()
    changed[np.ix_(held_out, held_out)] = 1e6
    np.testing.assert_array_equal(center_on(changed, train), center_on(kernel, train))


def test_the_kernel_itself_is_not_changed() -> None:
    kernel, _ = make_kernel(3, 10, 4)
    before = kernel.copy()
    center_on(kernel, np.arange(10))
    np.testing.assert_array_equal(kernel, before)


@pytest.mark.parametrize("seed", range(20))
def test_the_positive_part_removes_negative_directions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(2, 20)), 4
    root = rng.normal(size=(n + q, 6))
    whole = (root * rng.choice([-1.0, 1.0, 2.0], size=6)) @ root.T
    train = rng.permutation(n + q)[:n]
    held_out = np.setdiff1d(np.arange(n + q), train)
    centered = center_on(whole, train)
    before = centered.copy()
    positive = positive_part(centered, train)
    np.testing.assert_array_equal(centered, before)
    values, vectors = np.linalg.eigh(centered[train])
    size = np.abs(values).max()
    expected = (vectors * np.maximum(values, 0.0)) @ vectors.T
    np.testing.assert_allclose(positive[train], expected, atol=1e-12 * size * n)
    assert np.linalg.eigvalsh(positive[train]).min() >= -1e-12 * size
    # held-out rows keep only their components in the remaining directions
    kept = vectors[:, values > 1e-9 * size]
    cut = vectors[:, values < -1e-9 * size]
    np.testing.assert_allclose(positive[held_out] @ kept, centered[held_out] @ kept, atol=1e-10 * size * n)
    np.testing.assert_allclose(positive[held_out] @ cut, 0.0, atol=1e-10 * size * n)


def test_the_positive_part_of_a_kernel_is_itself() -> None:
    kernel, train = make_kernel(4, 25, 15)
    centered = center_on(kernel, train)
    np.testing.assert_allclose(positive_part(centered, train), centered, atol=1e-13)
    # a kernel of low rank, whose held-out samples lie in the span of the others
    x = np.random.default_rng(0).normal(size=(25, 3))
    centered = center_on(x @ x.T, train)
    np.testing.assert_allclose(positive_part(centered, train), centered, atol=1e-12)


def test_a_negative_kernel_has_no_positive_part() -> None:
    kernel, train = make_kernel(4, 25, 15)
    assert np.abs(positive_part(-center_on(kernel, train), train)).max() <= 1e-13
