"""Folds by groups and by a column of given folds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedGroupKFold

from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import group_folds
from tests.helpers.build import dense, file_dataset, load, put, refused

sizes = st.lists(st.integers(1, 12), min_size=3, max_size=25)


@settings(max_examples=80, deadline=None)
@given(sizes=sizes, folds=st.integers(2, 3), classes=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_groups_stay_together_and_no_fold_is_empty(sizes: list[int], folds: int, classes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    fold = group_folds(groups, rng.integers(0, classes, len(groups)), folds)
    assert sorted(set(fold)) == list(range(folds))
    assert all(len(set(fold[groups == group])) == 1 for group in range(len(sizes)))


@settings(max_examples=80, deadline=None)
@given(sizes=sizes, folds=st.integers(2, 3))
def test_without_classes_folds_differ_by_the_largest_group_at_most(sizes: list[int], folds: int) -> None:
    groups = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.bincount(group_folds(groups, np.zeros(len(groups), dtype=np.int64), folds))
    assert np.ptp(counts) <= max(sizes)


def shares(fold: Integers, classes: Integers, folds: int) -> Floats:
    """Return the share of each fold in each class."""
    table = np.zeros((folds, int(classes.max()) + 1))
    np.add.at(table, (fold, classes), 1)
    return np.asarray(table / table.sum(axis=0))


def test_class_shares_are_as_even_as_those_of_scikit_learn() -> None:
    ours, theirs = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(40), rng.integers(1, 20, 40))
        classes = (rng.random(len(groups)) < rng.random(40)[groups]).astype(np.int64)
        ours.append(np.abs(shares(group_folds(groups, classes, 5), classes, 5) - 0.2).max())
        fold = np.zeros(len(groups), dtype=np.int64)
        for number, (_, test) in enumerate(StratifiedGroupKFold(5).split(classes[:, None], classes, groups)):
            fold[test] = number
        theirs.append(np.abs(shares(fold, classes, 5) - 0.2).max())
    assert np.mean(ours) <= np.mean(theirs)


# Ten patients with four samples each; those with an even number are of class a.
ROWS = "".join(f"p{i % 10},{i},{7 * i % 11},{'ab'[i % 2]}\n" for i in range(40))
HEADER = "patient,v,w,label\n"


def patients(folder: Path, groups: int | str = "patient", **dataset: Any) -> tuple[Any, Integers]:
    put(folder, HEADER + ROWS)
    samples = load(folder, groups=groups, **dataset)
    return samples, samples.order % 10


@pytest.mark.parametrize("groups", ["patient", 0, -4])
@pytest.mark.parametrize("folds", [3, 5])
def test_samples_of_a_patient_are_in_one_fold(groups: int | str, folds: int, tmp_path: Path) -> None:
    samples, patient = patients(tmp_path, groups, folds=folds)
    assert samples.features.shape == (40, 2)  # the patient is no feature
    np.testing.assert_array_equal(dense(samples)[:, 0], samples.order)
    assert (np.diff(samples.fold) >= 0).all()
    assert all(len(set(samples.fold[patient == number])) == 1 for number in range(10))
    counts = shares(samples.fold, (samples.targets["classification"] > 0).astype(np.int64), folds)
    assert np.ptp(counts, axis=0).max() <= 0.2  # one of five patients of a class


def test_groups_depend_only_on_the_seed(tmp_path: Path) -> None:
    one, two = (patients(tmp_path, seed=4)[0] for _ in range(2))
    assert one.fingerprint == two.fingerprint
    assert patients(tmp_path, seed=5)[0].fingerprint != one.fingerprint


def test_groups_of_a_regression_have_similar_sizes(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i % 7},{i * i % 13},{i}\n" for i in range(50)))
    samples = load(tmp_path, groups=0, task="regression")
    assert np.ptp(np.bincount(samples.fold)) <= 8
    assert all(len(set(samples.fold[samples.order % 7 == group])) == 1 for group in range(7))


def test_fewer_groups_than_folds(tmp_path: Path) -> None:
    text = refused(tmp_path, HEADER + ROWS, groups="label", target="w", task="regression", index=True)
    assert "groups = 'label' has 2 distinct values, but there are 3 folds" in text


def test_groups_with_which_a_training_set_lacks_a_class(tmp_path: Path) -> None:
    rows = "".join(f"{i // 10},{i},{'a' if i // 10 < 2 else 'b'}\n" for i in range(40))
    text = refused(tmp_path, rows, groups=0)
    assert "has samples of only 1 of 2 classes" in text
    assert "[protocol] folds" in text


@pytest.mark.parametrize(("labels", "numbers"), [("cab", [2, 0, 1]), (["10", "9", "2"], [2, 1, 0])])
def test_given_folds_are_numbered_in_the_order_of_their_labels(labels: Any, numbers: list[int], tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{labels[i % 3]},{i},{'ab'[i % 2]}\n" for i in range(18)))
    samples = load(tmp_path, dataset_folds=0)
    np.testing.assert_array_equal(samples.fold, np.array(numbers)[samples.order % 3])
    assert (np.diff(samples.fold) >= 0).all()


def test_given_folds_may_be_uneven(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{min(i // 3, 2)},{i},{'ab'[i % 2]}\n" for i in range(18)))
    assert np.bincount(load(tmp_path, dataset_folds=0).fold).tolist() == [3, 3, 12]


def test_a_number_of_folds_that_differs_from_the_given_folds(tmp_path: Path) -> None:
    rows = "fold,v,label\n" + "".join(f"{'wxyz'[i % 4]},{i},{'ab'[i % 2]}\n" for i in range(20))
    text = refused(tmp_path, rows, dataset_folds="fold")
    assert "folds = 'fold' has 4 distinct values (w, x, y, z), but there are 3 folds" in text
    assert "set [protocol] folds = 4" in text


@pytest.mark.parametrize("key", ["groups", "dataset_folds"])
def test_a_row_without_a_group_or_a_fold(key: str, tmp_path: Path) -> None:
    rows = "part,v,label\n" + "".join(f"{'xyz'[i % 3]},{i},{'ab'[i % 2]}\n" for i in range(18)) + ",18,a\n"
    chosen: dict[str, Any] = {key: "part"}
    text = refused(tmp_path, rows, **chosen)
    assert f"column 'part', given by the key {key.removeprefix('dataset_')}, is empty in data row 19" in text
    assert load(tmp_path, missing="drop", **chosen).left_out == 1


def test_an_empty_group_is_counted_in_the_rows_of_the_file(tmp_path: Path) -> None:
    """Rows without a label are left out; missing = 'drop' would also leave out those whose gaps are imputed."""
    rows = [f"{'xyz'[i % 3]},{i or ''},{'ab'[i % 2]}\n" for i in range(16)]
    content = "part,v,label\n" + "y,1,\n" * 2 + "".join(rows) + ",18,a\n"
    text = refused(tmp_path, content, groups="part", missing="mean")
    assert "is empty in data row 19; this is the case in 1 of 19 rows. Fix the file: give the row a value" in text
    assert text.endswith(
        "With missing = 'drop', 4 rows are left out, which are all rows with an empty cell in a column that is used"
    )
    assert load(tmp_path, groups="part", missing="drop").left_out == 4


def test_a_column_has_one_role(tmp_path: Path) -> None:
    assert "groups = 'label' is also the target column" in refused(tmp_path, HEADER + ROWS, groups="label")
    text = refused(tmp_path, HEADER + ROWS, groups="patient", index=True)
    assert "groups = 'patient' is also the index column 'patient'" in text


# Thirty rows, of which every fifth belongs to the test set.
MARKED = "part,v,w,label\n" + "".join(
    f"{'test' if i % 5 == 4 else 'train'},{i},{7 * i % 11},{'ab'[i // 3 % 2]}\n" for i in range(30)
)
TEST_ROWS = [i for i in range(30) if i % 5 == 4]


@pytest.mark.parametrize("marks", [("test", "train"), ("1", "0"), ("1.0", "0.0"), ("True", "False"), ("YES", "no")])
def test_a_column_marks_the_test_set(marks: tuple[str, str], tmp_path: Path) -> None:
    put(tmp_path, MARKED.replace("test", marks[0]).replace("train", marks[1]))
    samples = load(tmp_path, test="part")
    assert sorted(samples.order[samples.fold == 3]) == TEST_ROWS
    np.testing.assert_array_equal(dense(samples)[:, 0], samples.order)
    assert np.bincount(samples.fold).tolist() == [8, 8, 8, 6]
    assert samples.largest_train == samples.info.largest_train == 16
    assert any(note.startswith("the test set is fixed (6 samples)") for note in samples.notes)


def test_marks_that_are_not_known(tmp_path: Path) -> None:
    text = refused(tmp_path, MARKED.replace("train", "dev"), test="part")
    assert "test = 'part' has the values 'dev'; a row of the test set is marked by true, 1, yes or test" in text


def test_a_test_set_without_a_row(tmp_path: Path) -> None:
    assert "has no usable row" in refused(tmp_path, MARKED.replace("test", "train"), test="part")


def test_rows_are_drawn_outside_the_test_set_which_is_used_completely(tmp_path: Path) -> None:
    put(tmp_path, MARKED)
    samples = load(tmp_path, test="part", rows=12)
    assert np.bincount(samples.fold).tolist() == [4, 4, 4, 6]
    assert "rows = 25, but there are only 24 usable rows" in refused(tmp_path, MARKED, test="part", rows=25)


def test_groups_and_given_folds_beside_a_fixed_test_set(tmp_path: Path) -> None:
    rows = "".join(f"{i % 5 == 4:d},g{i % 15},{i},{'ab'[i // 3 % 2]}\n" for i in range(30))
    put(tmp_path, "part,group,v,label\n" + rows)
    samples = load(tmp_path, test="part", groups="group")
    assert sorted(samples.order[samples.fold == 3]) == TEST_ROWS
    assert all(len(set(samples.fold[samples.order % 15 == group])) == 1 for group in range(15))
    # A row of the test set need not have a fold.
    lines = [line.split(",") for line in rows.splitlines()]
    put(
        tmp_path,
        "part,fold,v,label\n" + "".join(f"{t},{'' if t == '1' else int(g[1:]) % 3},{v},{y}\n" for t, g, v, y in lines),
    )
    assert sorted(load(tmp_path, test="part", dataset_folds="fold").order[24:]) == TEST_ROWS
    put(tmp_path, "fold,v,label\n" + "".join(f"{int(g[1:]) % 3},{v},{y}\n" for t, g, v, y in lines if t == "0"))
    put(tmp_path, "v,label\n" + "".join(f"{v},{y}\n" for t, g, v, y in lines if t == "1"), "test.csv")
    given_ = load(tmp_path, dataset_folds="fold", test_path="test.csv")
    assert np.bincount(given_.fold).tolist() == [8, 8, 8, 6]
    assert dense(given_)[given_.fold == 3, 0].tolist() == TEST_ROWS


def test_a_group_on_both_sides_of_a_fixed_test_set(tmp_path: Path) -> None:
    rows = "part,group,v,label\n" + "".join(f"{i % 5 == 4:d},g{i % 7},{i},{'ab'[i % 2]}\n" for i in range(30))
    text = refused(tmp_path, rows, test="part", groups="group")
    assert "groups = 'group': 6 groups are both in the test set and outside of it, such as 'g0'" in text


def split_file(folder: Path, columns: list[int], name: str = "things.csv") -> None:
    """Write the training rows and the test rows of `MARKED` to two files, the latter with the given columns."""
    header, *rows = (line.split(",") for line in MARKED.splitlines())
    put(
        folder, "".join(",".join(row[1:]) + "\n" for row in [header, *(row for row in rows if row[0] == "train")]), name
    )
    test = [header, *(row for row in rows if row[0] == "test")]
    put(folder, "".join(",".join(row[column] for column in columns) + "\n" for row in test), "test.csv")


@pytest.mark.parametrize("columns", [[1, 2, 3], [3, 1, 2], [0, 1, 2, 3]], ids=["same", "other order", "more"])
def test_a_file_contains_the_test_set(columns: list[int], tmp_path: Path) -> None:
    put(tmp_path, MARKED)
    whole = load(tmp_path, test="part", scale="standard")
    split_file(tmp_path, columns)
    samples = load(tmp_path, test_path="test.csv", target="label", scale="standard")
    assert sorted(samples.order[samples.fold == 3]) == list(range(24, 30))
    # The samples are the same; only the numbers of their rows differ.
    np.testing.assert_array_equal(samples.features, whole.features)
    np.testing.assert_array_equal(samples.targets["classification"], whole.targets["classification"])
    np.testing.assert_array_equal(samples.fold, whole.fold)
    assert file_dataset(test_path="test.csv").source_files() == ["things.csv", "test.csv"]


def test_a_test_file_without_the_target(tmp_path: Path) -> None:
    split_file(tmp_path, [1, 2])
    message = r"test_path: .*test.csv has no column 'label', .* Columns of test.csv: 'v', 'w'"
    with pytest.raises(DataError, match=message):
        load(tmp_path, test_path="test.csv", target="label")


def test_a_test_file_of_another_width(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{i % 4},{i % 2}\n" for i in range(12)))
    put(tmp_path, "1,2,3,0\n4,5,6,1\n", "test.csv")
    with pytest.raises(DataError, match=r"has 4 columns, unlike the file given by the key path, which has 3 columns"):
        load(tmp_path, test_path="test.csv")


@pytest.mark.parametrize("family", ["gaussian", "rank-one"])
def test_libsvm_files_need_not_have_the_same_columns(family: str, tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i % 2} 1:{i + 1} 4:{i % 3}\n" for i in range(12)), "things.libsvm")
    put(tmp_path, "1 4:7 9:8\n0 1:5\n", "test.libsvm")
    kernels = [{"family": family}] if family == "rank-one" else [{"family": family, "log2_gamma": [0, 0]}]
    samples = load(tmp_path, path="things.libsvm", format="libsvm", test_path="test.libsvm", kernels=kernels)
    features = samples.features if isinstance(samples.features, np.ndarray) else samples.features.toarray()
    assert features.shape == (14, 2)
    assert features[samples.order == 12].tolist() == [[0.0, 7.0]]
    assert features[samples.order == 13].tolist() == [[5.0, 0.0]]
    assert features[samples.order == 4].tolist() == [[5.0, 1.0]]
    assert sorted(samples.order[samples.fold == 3]) == [12, 13]


def test_the_largest_training_set_is_known_if_folds_are_uneven(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{min(i // 3, 2)},{i},{'ab'[i % 2]}\n" for i in range(18)))
    assert load(tmp_path, dataset_folds=0).info.largest_train == 12
    assert load(tmp_path).info.largest_train is None
