import numpy as np
import pytest
from sklearn.svm import SVC

import kernel_pipeline.tasks.learners.svm
from kernel_pipeline.tasks.errors import NotConvergedError
from kernel_pipeline.tasks.learners.svm import fit_svm_path
from tests.tasks import dense
from tests.tasks.dense import Floats

VALUES = [0.01, 1.0, 100.0, 1e4]


def make_problem(seed: int = 0, n: int = 60, held_out: int = 25) -> tuple[Floats, Floats, Floats]:
    """Return the kernel, the labels and the rows of held-out samples of two overlapping classes."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n + held_out, 3))
    target = np.where(features[:, 0] + 0.5 * rng.normal(size=n + held_out) > 0.3, 1.0, -1.0)
    kernel = dense.gaussians(features, (-2, -2))[0].astype(np.float64)
    return kernel[:n, :n], target[:n, None], kernel[n:, :n]


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn(seed: int) -> None:
    kernel, target, held_out = make_problem(seed)
    actual = fit_svm_path(kernel, target, VALUES).predict(held_out)
    assert actual.shape == (len(held_out), 1, len(VALUES))
    for number, value in enumerate(VALUES):
        expected = SVC(C=value, kernel="precomputed").fit(kernel, target[:, 0]).decision_function(held_out)
        # The sums have terms of size C, some of which cancel.
        np.testing.assert_allclose(actual[:, 0, number], expected, rtol=1e-12, atol=1e-12 * max(1.0, value))
    assert np.ptp(actual, axis=2).min() > 0  # a path, not one fit many times


def test_decisions_are_positive_for_the_positive_class() -> None:
    kernel, target, _ = make_problem()
    decisions = fit_svm_path(kernel, target, [1e4]).predict(kernel)[:, :, 0]
    assert np.mean(np.sign(decisions) == target) > 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_kernel_that_is_not_finite_is_refused(bad: float) -> None:
    # scikit-learn's check for finite values is switched off, and libsvm would not terminate.
    kernel, target, held_out = make_problem()
    broken = kernel.copy()
    broken[3, 2] = bad
    with pytest.raises(ValueError, match="finite"):
        fit_svm_path(broken, target, VALUES)
    broken = held_out.copy()
    broken[-1, 0] = bad
    fitted = fit_svm_path(kernel, target, VALUES)
    with pytest.raises(ValueError, match="finite"):
        fitted.predict(broken)


def test_a_fit_that_does_not_converge_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, target, _ = make_problem()
    monkeypatch.setattr(kernel_pipeline.tasks.learners.svm, "MAX_ITERATIONS", 1)
    with pytest.raises(NotConvergedError, match="C = 100 did not converge in 1 iterations"):
        fit_svm_path(kernel, target, [100.0])


def test_settings_of_scikit_learn_are_restored() -> None:
    import sklearn

    before = sklearn.get_config()
    kernel, target, held_out = make_problem()
    fit_svm_path(kernel, target, [1.0]).predict(held_out)
    assert sklearn.get_config() == before


def several_classes(seed: int, n: int = 90, held_out: int = 40) -> tuple[Floats, Floats, Floats]:
    """Return kernel, block of labels and rows of held-out samples of four overlapping classes of different sizes."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n + held_out, 2))
    classes = np.digitize(features[:, 0] + 0.7 * rng.normal(size=n + held_out), [-0.5, 0.2, 1.2])
    kernel = dense.gaussians(features, (-1, -1))[0].astype(np.float64)
    return kernel[:n, :n], np.eye(4)[classes[:n]], kernel[n:, :n]


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_several_classes_against_scikit_learn(seed: int, class_weight: str | None) -> None:
    kernel, target, held_out = several_classes(seed)
    actual = fit_svm_path(kernel, target, VALUES, class_weight).predict(held_out)
    assert actual.shape == (len(held_out), 4, len(VALUES))
    assert set(np.unique(actual)) == {0.0, 1.0}
    assert (actual.sum(axis=1) == 1).all()
    for number, value in enumerate(VALUES):
        machine = SVC(C=value, kernel="precomputed", class_weight=class_weight).fit(kernel, target.argmax(axis=1))
        np.testing.assert_array_equal(actual[:, :, number].argmax(axis=1), machine.predict(held_out))


def test_class_weights_of_two_classes_against_scikit_learn() -> None:
    kernel, target, held_out = make_problem(1)
    actual = fit_svm_path(kernel, target, [1.0], "balanced").predict(held_out)[:, 0, 0]
    machine = SVC(C=1.0, kernel="precomputed", class_weight="balanced").fit(kernel, target[:, 0])
    np.testing.assert_allclose(actual, machine.decision_function(held_out), rtol=1e-12, atol=1e-12)
    assert np.abs(actual - fit_svm_path(kernel, target, [1.0]).predict(held_out)[:, 0, 0]).max() > 1e-3


def test_ties_of_several_classes_are_broken_as_by_scikit_learn() -> None:
    # Three classes at the corners of a triangle: every class wins one of three votes for the samples in the middle.
    corners = np.array([[1.0, 0.0], [-0.5, 3**0.5 / 2], [-0.5, -(3**0.5) / 2]])
    features = np.concatenate([corners * scale for scale in (1.0, 1.1, 1.2)])
    target = np.tile(np.eye(3), (3, 1))
    middle = np.vstack([np.zeros(2), 1e-9 * np.random.default_rng(0).normal(size=(20, 2))])
    kernel, held_out = features @ features.T, middle @ features.T
    found = fit_svm_path(kernel, target, [1.0]).predict(held_out)[:, :, 0].argmax(axis=1)
    machine = SVC(C=1.0, kernel="precomputed").fit(kernel, target.argmax(axis=1))
    np.testing.assert_array_equal(found, machine.predict(held_out))
