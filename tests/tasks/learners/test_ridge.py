import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from kernel_pipeline.tasks.errors import NotPositiveDefiniteError
from tests.tasks import dense
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import predict_ridges

EPS = float(np.finfo(np.float64).eps)
SIZES = [1, 2, 3, 50, 200]
RIDGES = [2.0**exponent for exponent in range(0, -31, -3)]


def make_problem(n: int, held_out: int = 17) -> tuple[Floats, Floats, Floats]:
    """Return a centered kernel of trace one, labels of two outputs with a mean, and the rows of held-out samples."""
    rng = np.random.default_rng(n)
    features = rng.normal(size=(n + held_out, 3))
    kernel = dense.gaussians(features, (-3, -3))[0]
    train = kernel[:n, :n]
    columns = kernel[:, :n] - kernel[:, :n].mean(axis=1, keepdims=True) - train.mean(axis=0) + train.mean()
    trace = np.trace(columns[:n]) if n > 1 else 1.0  # one sample alone is centered to 0
    columns = (columns / trace).astype(np.float64)
    target = np.sin(features[:n, 0]) + 0.1 * rng.normal(size=n) + 3.0
    return columns[:n], np.column_stack([target, np.cos(features[:n, 1]) - 20.0]), columns[n:]


def solve(kernel: Floats, target: Floats, ridge: float) -> Floats:
    """Compute (K + ridge I)^-1 y by a dense solve, refined with residuals in extended precision."""
    matrix = kernel.astype(np.longdouble) + ridge * np.eye(len(kernel), dtype=np.longdouble)
    solution = np.zeros(target.shape, dtype=np.longdouble)
    for _ in range(4):
        residual = target.astype(np.longdouble) - matrix @ solution
        solution = solution + np.linalg.solve(matrix.astype(np.float64), residual.astype(np.float64))
    return solution.astype(np.float64)


def tolerance(ridge: float) -> float:
    """Return the relative tolerance, for a kernel of norm at most one and a condition number of about 1 / ridge."""
    return 16 * EPS * (1.0 + 1.0 / ridge)


@pytest.mark.parametrize("n", SIZES)
def test_against_a_dense_solve(n: int) -> None:
    kernel, target, held_out = make_problem(n)
    before = target.copy()
    actual = predict_ridges(kernel, target, held_out, RIDGES)
    assert actual.shape == (len(held_out), 2, len(RIDGES))
    for number, ridge in enumerate(RIDGES):
        expected = held_out @ solve(kernel, target - target.mean(axis=0), ridge) + target.mean(axis=0)
        size = np.abs(expected).max()
        np.testing.assert_allclose(actual[:, :, number], expected, rtol=0, atol=tolerance(ridge) * size)
    np.testing.assert_array_equal(target, before)


@pytest.mark.parametrize("n", SIZES)
def test_against_scikit_learn(n: int) -> None:
    kernel, target, held_out = make_problem(n)
    actual = predict_ridges(kernel, target, held_out, RIDGES)
    for number, ridge in enumerate(RIDGES):
        model = KernelRidge(alpha=ridge, kernel="precomputed").fit(kernel, target - target.mean(axis=0))
        expected = model.predict(held_out) + target.mean(axis=0)
        size = np.abs(expected).max()
        np.testing.assert_allclose(actual[:, :, number], expected, rtol=0, atol=2 * tolerance(ridge) * size)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 33])
def test_a_kernel_of_full_rank_that_is_not_centered(n: int) -> None:
    # The path does not assume that the kernel maps the vector of ones to 0.
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    kernel, target, held_out = root @ root.T, rng.normal(size=(n, 1)), rng.normal(size=(4, n))
    actual = predict_ridges(kernel, target, held_out, [1.0, 0.1])
    for number, ridge in enumerate([1.0, 0.1]):
        expected = held_out @ np.linalg.solve(kernel + ridge * np.eye(n), target - target.mean(axis=0)) + target.mean(
            axis=0
        )
        np.testing.assert_allclose(actual[:, :, number], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", SIZES)
def test_the_intercept_is_the_mean_of_the_target(n: int) -> None:
    kernel, target, held_out = make_problem(n)
    nowhere = np.zeros((2, n))  # samples that are similar to no other
    means = target.mean(axis=0)[:, None]
    expected = np.broadcast_to(means, (2, 2, len(RIDGES)))
    np.testing.assert_array_equal(predict_ridges(kernel, target, nowhere, RIDGES), expected)
    # a huge ridge leaves only the mean, and a shift of the target shifts the predictions
    np.testing.assert_allclose(
        predict_ridges(kernel, target, held_out, [1e12]), np.broadcast_to(means, (17, 2, 1)), rtol=1e-9
    )
    moved = predict_ridges(kernel, target + 10.0, held_out, [0.01])
    np.testing.assert_allclose(moved, predict_ridges(kernel, target, held_out, [0.01]) + 10.0, rtol=1e-9)


def test_one_training_sample() -> None:
    # The mean is the label of the sample, so it is predicted for any kernel and ridge.
    actual = predict_ridges(np.array([[0.7]]), np.array([[4.0]]), np.array([[0.3], [-2.0]]), [1.0, 1e-9])
    np.testing.assert_array_equal(actual, np.full((2, 1, 2), 4.0))


@pytest.mark.parametrize("n", [2, 3, 10, 80])
def test_a_ridge_too_small_for_an_indefinite_kernel_has_no_fit(n: int) -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    kernel = (Q * np.linspace(-0.5, 1.0, n)) @ Q.T
    target, held_out = rng.normal(size=(n, 2)), rng.normal(size=(2, n))
    with pytest.raises(NotPositiveDefiniteError, match=r"eigenvalue below -0\.25"):
        predict_ridges(kernel, target, held_out, [0.125, 0.25])
    # a larger ridge makes the matrix positive definite, and ridges without a fit do not affect the others
    actual = predict_ridges(kernel, target, held_out, [0.25, 1.0, 0.4, 0.75])
    assert np.isnan(actual[:, :, [0, 2]]).all()
    for number, ridge in ((1, 1.0), (3, 0.75)):
        expected = held_out @ np.linalg.solve(kernel + ridge * np.eye(n), target - target.mean(axis=0)) + target.mean(
            axis=0
        )
        np.testing.assert_allclose(actual[:, :, number], expected, rtol=1e-9, atol=1e-9)


def test_an_indefinite_kernel_of_one_sample_is_refused() -> None:
    with pytest.raises(NotPositiveDefiniteError):
        predict_ridges(np.array([[-1.0]]), np.array([[4.0]]), np.array([[1.0]]), [0.5])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_kernel_that_is_not_finite_is_refused(bad: float) -> None:
    kernel, target, held_out = make_problem(10)
    kernel[3, 2] = kernel[2, 3] = bad
    with pytest.raises(ValueError, match="finite"):
        predict_ridges(kernel, target, held_out, [0.5])
