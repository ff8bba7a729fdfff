"""Several assignments of the same samples to folds."""

from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.data import fold_assignment
from kernel_pipeline.data.fold_assignment import repeat_notes
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.errors import ConfigError, DataError
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import group_folds, trials
from tests.helpers.build import config_values, parsed, put


def load(folder: Path, repeats: int, folds: int = 3, seed: int = 0, **dataset: object) -> PreparedDataset:
    values = config_values(**dataset) | {"seed": seed, "protocol": {"folds": folds, "repeats": repeats}}
    config = parsed(values)
    return prepare_dataset(config, config.dataset[0], folder)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Write 60 rows of two classes and 17 patients with 1 to 7 rows each; the last 12 rows are a fixed test set."""
    random = np.random.default_rng(4)
    patients = np.append(np.repeat(np.arange(15), [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 5, 7]), [15] * 6 + [16] * 6)
    lines = [
        f"{random.normal()},{'ab'[i % 3 == 0]},p{patient},{'test' if patient > 14 else 'train'}"
        for i, patient in enumerate(patients)
    ]
    put(tmp_path, "\n".join(["x,y,patient,part", *lines]))
    return tmp_path


def classes(samples: PreparedDataset) -> Floats:
    return samples.targets["classification"]


def test_the_first_repeat_is_the_assignment_of_a_sweep_without_repeats(table: Path) -> None:
    one, several = (load(table, repeats, target="y", drop=["patient", "part"]) for repeats in (1, 4))
    assert one.fold_by_repeat is None
    assert several.fold_by_repeat is not None
    np.testing.assert_array_equal(several.fold_by_repeat[0], one.fold)
    np.testing.assert_array_equal(several.order, one.order)
    assert several.fingerprint != one.fingerprint


def test_every_repeat_is_balanced_and_differs_from_the_others(table: Path) -> None:
    found = load(table, 6, target="y", drop=["patient", "part"])
    assert found.fold_by_repeat is not None
    assert len(np.unique(found.fold_by_repeat, axis=0)) == 6
    for fold in found.fold_by_repeat:
        assert np.bincount(fold).tolist() == [20, 20, 20]
        assert set(np.bincount(fold[classes(found) == 1])) <= {6, 7}  # of 20 samples
    again, other = (load(table, 6, target="y", drop=["patient", "part"], seed=seed) for seed in (0, 1))
    assert again.fingerprint == found.fingerprint
    assert other.fold_by_repeat is not None
    # the samples in the order of the source, since the seed also changes their order
    first, second = (
        loaded.fold_by_repeat[:, np.argsort(loaded.order)]
        for loaded in (found, other)
        if loaded.fold_by_repeat is not None
    )
    assert not (first == second).all(axis=1).any()


def test_two_samples_share_a_fold_as_often_as_in_independent_assignments(table: Path) -> None:
    found = load(table, 60, target="y", drop=["patient", "part"])
    assert found.fold_by_repeat is not None
    together = np.mean([fold[:, None] == fold for fold in found.fold_by_repeat], axis=0)
    pairs = together[np.triu_indices(60, 1)]
    assert pairs.mean() == pytest.approx(19 / 59, abs=1e-12)
    assert pairs.std() == pytest.approx(np.sqrt(19 / 59 * 40 / 59 / 60), rel=0.15)


def test_groups_stay_together_and_a_fixed_test_set_stays_the_last_fold(table: Path) -> None:
    found = load(table, 5, target="y", groups="patient", test="part")
    assert found.fold_by_repeat is not None
    patients = np.loadtxt(table / "things.csv", delimiter=",", dtype=str, skiprows=1)[:, 2][found.order]
    assert len(np.unique(found.fold_by_repeat, axis=0)) == 5
    for fold in found.fold_by_repeat:
        assert (np.flatnonzero(fold == 3) == np.arange(48, 60)).all()
        assert np.ptp(np.bincount(fold)[:3]) <= 7  # the largest group
        for patient in set(patients):
            assert len(set(fold[patients == patient])) == 1
    repeat_trials = trials(3, fixed_test=True)
    trained = [np.isin(fold, trial.train).sum() for fold in found.fold_by_repeat for trial in repeat_trials]
    assert found.info.largest_train == max(trained)


def test_groups_of_different_sizes_are_assigned_in_different_ways() -> None:
    groups = np.repeat(np.arange(9), np.arange(1, 10))
    none = np.zeros(len(groups), dtype=np.int64)
    found = {tuple(group_folds(groups, none, 3, np.random.default_rng(seed))) for seed in range(8)}
    assert len(found) > 4
    assert len({tuple(group_folds(groups, none, 3)) for _ in range(8)}) == 1


def test_few_groups_allow_few_assignments_which_is_noted(tmp_path: Path) -> None:
    lines = [f"{i},{i % 7},{'ab'[i % 2]},g{i // 4}" for i in range(12)]
    put(tmp_path, "\n".join(["x,z,y,g", *lines]))
    found = load(tmp_path, 20, target="y", groups="g")
    assert any("distinct assignments of samples to folds, since there are few groups" in note for note in found.notes)
    assert repeat_notes(np.array([[0, 1], [1, 0]])) == ()


def test_given_folds_allow_one_repeat() -> None:
    with pytest.raises(ConfigError, match="dataset 'things' are given by folds = 'part', so there is one assignment"):
        parsed(config_values(folds="part") | {"protocol": {"folds": 3, "repeats": 2}})


def test_a_repeat_whose_training_set_lacks_a_class_is_named(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def by_class(groups: Integers, classes: Integers, folds: int, random: object = None) -> Integers:
        return group_folds(groups, classes, folds) if random is None else 2 * classes  # fold 1 is empty

    monkeypatch.setattr(fold_assignment, "group_folds", by_class)
    with pytest.raises(DataError, match=r"\[protocol\] repeats = 2: repeat 1: dataset 'things': the training set of"):
        load(table, 2, target="y", groups="patient", drop=["part"])
