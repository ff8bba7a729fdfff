import numpy as np
import pytest
from sklearn.svm import SVC

import kernel_pipeline.tasks.learners.svm
from kernel_pipeline.tasks.errors import NotConvergedError
from kernel_pipeline.tasks.learners.svm import svm_path
from tests.tasks import dense
from tests.tasks.dense import Floats

VALUES = [0.01, 1.0, 100.0, 1e4]


def make_problem(seed: int = 0, n: int = 60, held_out: int = 25) -> tuple[Floats, Floats, Floats]:
    """Kernel, labels and the rows of held-out samples, of two classes that overlap."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n + held_out, 3))
    target = np.where(features[:, 0] + 0.5 * rng.normal(size=n + held_out) > 0.3, 1.0, -1.0)
    kernel = dense.gaussians(features, (-2, -2))[0].astype(np.float64)
    return kernel[:n, :n], target[:n], kernel[n:, :n]


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn(seed: int) -> None:
    kernel, target, held_out = make_problem(seed)
    actual = svm_path(kernel, target, held_out, VALUES)
    assert actual.shape == (len(held_out), len(VALUES))
    for column, value in enumerate(VALUES):
        expected = SVC(C=value, kernel="precomputed").fit(kernel, target).decision_function(held_out)
        np.testing.assert_allclose(actual[:, column], expected, rtol=1e-12, atol=1e-12)
    assert np.ptp(actual, axis=1).min() > 0  # a path, not one fit many times


def test_decisions_are_positive_for_the_positive_class() -> None:
    kernel, target, _ = make_problem()
    decisions = svm_path(kernel, target, kernel, [1e4])[:, 0]
    assert np.mean(np.sign(decisions) == target) > 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_kernel_that_is_not_finite_is_refused(bad: float) -> None:
    # scikit-learn is told to take the kernel on trust, and libsvm would never end.
    kernel, target, held_out = make_problem()
    broken = kernel.copy()
    broken[3, 2] = bad
    with pytest.raises(ValueError, match="finite"):
        svm_path(broken, target, held_out, VALUES)
    broken = held_out.copy()
    broken[-1, 0] = bad
    with pytest.raises(ValueError, match="finite"):
        svm_path(kernel, target, broken, VALUES)


def test_a_fit_that_does_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, target, held_out = make_problem()
    monkeypatch.setattr(kernel_pipeline.tasks.learners.svm, "MAX_ITERATIONS", 1)
    with pytest.raises(NotConvergedError, match="C = 100 did not converge in 1 iterations"):
        svm_path(kernel, target, held_out, [100.0])


def test_settings_of_scikit_learn_are_put_back() -> None:
    import sklearn

    before = sklearn.get_config()
    svm_path(*make_problem(), [1.0])
    assert sklearn.get_config() == before
