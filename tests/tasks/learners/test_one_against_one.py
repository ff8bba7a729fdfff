import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_sample_weight

from kernel_pipeline.tasks.learners.one_against_one import class_pairs, sample_weights, vote


def test_pairs_of_classes() -> None:
    target = np.eye(3)[[0, 2, 1, 2]]
    pairs = class_pairs(target)
    assert [(pair.samples.tolist(), pair.labels.tolist()) for pair in pairs] == [
        ([0, 2], [1.0, -1.0]),
        ([0, 1, 3], [1.0, -1.0, -1.0]),
        ([1, 2, 3], [-1.0, 1.0, -1.0]),
    ]
    (pair,) = class_pairs(np.array([[1.0], [-1.0]]))
    assert pair.labels.tolist() == [1.0, -1.0]


def test_a_class_that_does_not_occur_is_an_error() -> None:
    with pytest.raises(ValueError, match="both classes must occur"):
        class_pairs(np.ones((5, 1)))
    with pytest.raises(ValueError, match="every class must occur"):
        class_pairs(np.eye(3)[[0, 1, 1]])


def test_balanced_weights_against_scikit_learn() -> None:
    classes = np.array([0, 1, 1, 2, 2, 2, 2])
    np.testing.assert_allclose(
        sample_weights(np.eye(3)[classes], "balanced"), compute_sample_weight("balanced", classes), rtol=1e-14
    )
    two = np.where(classes > 1, 1.0, -1.0)
    np.testing.assert_allclose(
        sample_weights(two[:, None], "balanced"), compute_sample_weight("balanced", two), rtol=1e-14
    )
    np.testing.assert_array_equal(sample_weights(two[:, None], None), np.ones(7))


def test_votes_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    features, classes = rng.normal(size=(60, 2)), np.arange(60) % 5  # nothing to learn, so there are many ties
    machine = SVC(kernel="linear", decision_function_shape="ovo").fit(features, classes)
    other = 3 * rng.normal(size=(400, 2))
    decisions = machine.decision_function(other)
    found = vote(np.stack([decisions, -decisions], axis=2), 5)
    assert found.shape == (400, 5, 2)
    np.testing.assert_array_equal(found.sum(axis=1), 1.0)
    np.testing.assert_array_equal(found[:, :, 0].argmax(axis=1), machine.predict(other))
    assert (found[:, :, 1] != found[:, :, 0]).any()
