import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_pipeline.tasks.folds import fold_bounds, stratified_folds, trials

many_folds = st.integers(2, 10)


@settings(max_examples=60, deadline=None)
@given(folds=many_folds, more=st.integers(0, 60), classes=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_folds_are_contiguous_even_and_contain_every_sample(folds: int, more: int, classes: int, seed: int) -> None:
    count = folds + more
    target = np.random.default_rng(seed).integers(0, classes, size=count).astype(np.float64)
    place, fold = stratified_folds(target, folds)
    assert place.dtype == fold.dtype == np.int64
    np.testing.assert_array_equal(np.sort(place), np.arange(count))
    assert (np.diff(fold) >= 0).all()
    sizes = np.bincount(fold, minlength=folds)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


@settings(max_examples=60, deadline=None)
@given(folds=many_folds, rare=st.integers(1, 30), common=st.integers(10, 60), seed=st.integers(0, 2**32 - 1))
def test_two_classes_are_distributed_evenly(folds: int, rare: int, common: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = rng.permutation(np.repeat([1.0, -1.0], [rare, common]))
    place, fold = stratified_folds(target, folds)
    for label in (1.0, -1.0):
        shares = np.bincount(fold[target[place] == label], minlength=folds)
        assert shares.max() - shares.min() <= 1


def test_other_targets_are_assigned_in_turn() -> None:
    # The samples are in random order, so this is a random split, which sorting by a target would not be.
    target = np.array([3.0, 1.0, 2.0, 9.0, 7.0, 8.0, 4.0])
    place, fold = stratified_folds(target, 3)
    np.testing.assert_array_equal(place, [0, 3, 6, 1, 4, 2, 5])
    np.testing.assert_array_equal(fold, [0, 0, 0, 1, 1, 2, 2])


def test_classes_are_assigned_in_the_order_of_their_samples() -> None:
    target = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    place, fold = stratified_folds(target, 2)
    np.testing.assert_array_equal(place, [1, 4, 2, 3, 0, 5])
    np.testing.assert_array_equal(fold, [0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("folds", range(3, 11))
def test_trials(folds: int) -> None:
    repeat_trials = trials(folds)
    assert [trial.test for trial in repeat_trials] == list(range(folds))
    for trial in repeat_trials:
        assert trial.validation == (trial.test + 1) % folds
        assert len(trial.train) == folds - 2
        assert sorted((trial.test, trial.validation, *trial.train)) == list(range(folds))
    # each fold tests once and validates once
    assert sorted(trial.validation for trial in repeat_trials) == list(range(folds))


@pytest.mark.parametrize("folds", range(3, 11))
def test_trials_with_a_fixed_test_set(folds: int) -> None:
    repeat_trials = trials(folds, fixed_test=True)
    assert len(repeat_trials) == folds
    assert {trial.test for trial in repeat_trials} == {folds}
    assert [trial.validation for trial in repeat_trials] == list(range(folds))
    assert all(sorted((trial.validation, *trial.train)) == list(range(folds)) for trial in repeat_trials)


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=10))
def test_fold_bounds(sizes: list[int]) -> None:
    fold = np.repeat(np.arange(len(sizes)), sizes)
    bounds = fold_bounds(fold)
    assert bounds.dtype == np.int64
    np.testing.assert_array_equal(bounds, np.cumsum([0, *sizes]))


def test_bounds_of_stratified_folds_delimit_each_fold() -> None:
    _, fold = stratified_folds(np.random.default_rng(0).normal(size=23), 5)
    bounds = fold_bounds(fold)
    for f in range(5):
        np.testing.assert_array_equal(np.flatnonzero(fold == f), np.arange(bounds[f], bounds[f + 1]))
