"""Datasets are sampled, scaled and divided into folds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from tests.helpers.build import (
    FEATURES,
    LABELS,
    ROWS,
    dense,
    load,
    parsed,
    put,
    refused,
    synthetic_values,
)

NUMBERS = "".join(f"{i},{i * i},{7 * i % 11}\n" for i in range(20))


def synthetic(folder: Path, seed: int = 0, folds: int = 3, **dataset: Any) -> PreparedDataset:
    config = parsed(synthetic_values(**dataset) | {"seed": seed, "protocol": {"folds": folds}})
    return prepare_dataset(config, config.dataset[0], folder)


@pytest.mark.parametrize("folds", [3, 4, 5, 9])
def test_folds_are_contiguous_and_differ_by_at_most_one_sample(folds: int, tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    fold = load(tmp_path, folds=folds, task="regression").fold
    assert (np.diff(fold) >= 0).all()
    counts = np.bincount(fold, minlength=folds)
    assert len(counts) == folds
    assert np.ptp(counts) <= 1


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("folds", [3, 4, 5])
def test_folds_of_two_classes_are_stratified(task: str, folds: int, tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{'yes' if i % 3 == 0 else 'no'}\n" for i in range(40)))
    samples = load(tmp_path, folds=folds, task=task)
    for label in (-1.0, 1.0):
        counts = np.bincount(samples.fold[samples.targets[task] == label], minlength=folds)
        assert np.ptp(counts) <= 1


def test_features_targets_and_order_stay_together(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    samples = load(tmp_path, rows=8)
    assert len(set(samples.order)) == len(samples.order) == 8
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order])


def test_both_tasks_of_one_dataset_have_the_same_folds(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    both = load(tmp_path, task=["regression", "classification"])
    assert list(both.targets) == ["regression", "classification"]
    np.testing.assert_array_equal(both.targets["regression"], both.targets["classification"])
    np.testing.assert_array_equal(both.order, load(tmp_path).order)


def test_positive_is_for_the_classification_of_numbers_only(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{i % 3}\n" for i in range(12)))
    both = load(tmp_path, task=["regression", "classification"], positive=["1"])
    np.testing.assert_array_equal(both.targets["regression"], both.order % 3)
    np.testing.assert_array_equal(both.targets["classification"], np.where(both.order % 3 == 1, 1, -1))


def test_the_same_seed_gives_the_same_samples(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    one, two = (load(tmp_path, seed=5, task="regression", rows=12) for _ in range(2))
    np.testing.assert_array_equal(one.order, two.order)
    assert one.fingerprint == two.fingerprint


def test_another_seed_gives_other_samples(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    one, two = (load(tmp_path, seed=seed, task="regression", rows=12) for seed in (5, 6))
    assert set(one.order) != set(two.order)
    assert one.fingerprint != two.fingerprint


def test_without_rows_all_are_taken(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    assert sorted(load(tmp_path, task="regression").order) == list(range(20))
    assert sorted(load(tmp_path, task="regression", rows=20).order) == list(range(20))


def test_more_rows_than_available(tmp_path: Path) -> None:
    assert "rows = 10, but there are only 9 usable rows" in refused(tmp_path, ROWS, rows=10)


def test_rows_left_out_do_not_count_as_usable(tmp_path: Path) -> None:
    assert "only 9 usable rows" in refused(tmp_path, ROWS + "?,1,a\n", rows=10, missing="drop")


@pytest.mark.parametrize(("folds", "rows"), [(10, None), (5, 4)])
def test_fewer_rows_than_folds(folds: int, rows: int | None, tmp_path: Path) -> None:
    dataset = {} if rows is None else {"rows": rows}
    text = refused(tmp_path, ROWS, folds=folds, **dataset)
    assert f"{rows or 9} rows are too few for {folds} folds" in text


def test_a_fold_of_one_row_is_enough(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    assert load(tmp_path, folds=20, task="regression").fold.tolist() == list(range(20))


def rows_of_classes(first: int, second: int) -> str:
    return "".join(f"{i},{'a' if i < first else 'b'}\n" for i in range(first + second))


def test_a_class_of_three_samples_is_in_every_training_set(tmp_path: Path) -> None:
    put(tmp_path, rows_of_classes(3, 9))
    samples = load(tmp_path)
    assert sorted(samples.fold[samples.targets["classification"] == -1.0]) == [0, 1, 2]


def test_the_classes_are_those_of_the_sampled_rows(tmp_path: Path) -> None:
    # One row of 1000 is of class b; a sample of five rows does not contain it.
    assert "one class" in refused(tmp_path, rows_of_classes(999, 1), rows=5)


@pytest.mark.parametrize("folds", [3, 4, 5])
def test_folds_of_several_classes_are_stratified(folds: int, tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{'abbccc'[i % 6]}\n" for i in range(40)))
    samples = load(tmp_path, folds=folds)
    block = samples.targets["classification"]
    assert block.shape == (40, 3)
    for label in range(3):
        assert np.ptp(np.bincount(samples.fold[block[:, label] == 1], minlength=folds)) <= 1
    assert ["abc"[place] for place in block.argmax(axis=1)] == ["abbccc"[i % 6] for i in samples.order]


def test_a_class_of_three_samples_among_several_is_in_every_training_set(tmp_path: Path) -> None:
    put(tmp_path, rows_of_classes(9, 8) + "1,c\n" * 3)
    samples = load(tmp_path, folds=5)
    assert len(set(samples.fold[samples.targets["classification"][:, 2] == 1])) == 3


def test_both_tasks_of_numbers_have_a_column_and_a_block(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{i % 3}\n" for i in range(12)))
    both = load(tmp_path, task=["regression", "classification"])
    np.testing.assert_array_equal(both.targets["regression"], both.order % 3)
    np.testing.assert_array_equal(both.targets["classification"], np.eye(3)[both.order % 3])
    assert [both.info.label_columns(task) for task in both.targets] == [1, 3]
    assert both.info.classes == (("0",), ("1",), ("2",))


def test_several_targets_of_a_file(tmp_path: Path) -> None:
    put(tmp_path, "u,y1,v,y2\n" + "".join(f"{i},{2 * i},{i % 3},{i * i}\n" for i in range(12)))
    samples = load(tmp_path, task="regression", target=["y2", "y1"])
    np.testing.assert_array_equal(samples.targets["regression"], np.column_stack([samples.order**2, 2 * samples.order]))
    np.testing.assert_array_equal(samples.features, np.column_stack([samples.order, samples.order % 3]))
    assert samples.info.outputs == ("y2", "y1")
    assert samples.info.label_columns("regression") == 2
    assert load(tmp_path, task="regression", target=["y1"]).targets["regression"].ndim == 1
    assert load(tmp_path, task="regression", target=[1, -1], header=True).info.outputs == ("y1", "y2")


@pytest.mark.parametrize(
    ("target", "more", "message"),
    [
        (["y", "y"], {}, "target = ['y', 'y'] names a column more than once"),
        (["y", "z"], {}, "z"),
        (["y", "v"], {"drop": ["v"]}, "drop = ['v'] contains the target column 'v'"),
        (["u", "v", "y"], {}, "there is no feature column besides the target 'u'"),
        (["y", "v"], {"task": "classification"}, "task = 'classification', but there are 2 target columns (y, v)"),
        (["y", "v"], {"positive": ["1"]}, "positive = ['1'], but there are 2 target columns"),
    ],
)
def test_several_targets_that_are_refused(
    target: list[str], more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    rows = "u,v,y\n" + "".join(f"{i},{i * i},{i % 5}\n" for i in range(12))
    assert message in refused(tmp_path, rows, **{"task": "regression", "target": target, **more})


def test_rows_without_one_of_the_targets_can_be_left_out(tmp_path: Path) -> None:
    rows = "u,v,y\n" + "".join(f"{i},{'' if i == 4 else i * i},{i % 5}\n" for i in range(12))
    text = refused(tmp_path, rows, task="regression", target=["y", "v"])
    assert "target column 'v' is empty in data row 5; this is the case in 1 of 12 rows" in text
    put(tmp_path, rows)
    samples = load(tmp_path, task="regression", target=["y", "v"], missing="drop")
    assert samples.left_out == 1
    assert 4 not in samples.order


def test_features_that_are_all_constant(tmp_path: Path) -> None:
    text = refused(tmp_path, "".join(f"1,2,{'ab'[i % 2]}\n" for i in range(9)))
    assert "every feature column is constant" in text


def test_a_constant_target(tmp_path: Path) -> None:
    text = refused(tmp_path, "".join(f"{i},5\n" for i in range(9)), task="regression")
    assert "the target is constant (5)" in text


def test_features_are_not_scaled_by_default(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    samples = load(tmp_path)
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])


def test_standard_scale(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    samples = load(tmp_path, task="regression", scale="standard")
    np.testing.assert_allclose(dense(samples).mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(dense(samples).std(axis=0), 1)
    i = samples.order
    np.testing.assert_allclose(dense(samples)[:, 0], (i - 9.5) / np.std(np.arange(20)))


def test_minmax_scale(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    samples = load(tmp_path, task="regression", scale="minmax")
    np.testing.assert_allclose(dense(samples)[:, 0], samples.order / 19)
    assert dense(samples).min() == 0
    assert dense(samples).max() == 1


@pytest.mark.parametrize("scale", ["standard", "minmax"])
@pytest.mark.parametrize("constant", ["0.1", "3", "1e100"])
def test_a_constant_column_becomes_zero(scale: str, constant: str, tmp_path: Path) -> None:
    # The mean of values 0.1 differs from 0.1 by rounding; dividing the difference by a tiny deviation would give noise.
    put(tmp_path, "".join(f"{constant},{i},{'ab'[i % 2]}\n" for i in range(9)))
    features = dense(load(tmp_path, scale=scale))
    assert not features[:, 0].any()
    assert np.ptp(features[:, 1]) > 0


def test_the_scale_is_that_of_the_sampled_rows(tmp_path: Path) -> None:
    put(tmp_path, NUMBERS)
    features = dense(load(tmp_path, task="regression", scale="minmax", rows=7))
    assert features.min(axis=0).tolist() == [0, 0]
    assert features.max(axis=0).tolist() == [1, 1]


def test_kernels_are_named_by_their_families(tmp_path: Path) -> None:
    assert synthetic(tmp_path).kernels == ("gaussian(2^-1)", "gaussian(2^0)")


@pytest.mark.parametrize(("header", "names"), [(False, ("0", "1")), (True, ("u", "v"))])
def test_rank_one_kernels_are_named_after_their_columns(header: bool, names: tuple[str, ...], tmp_path: Path) -> None:
    put(tmp_path, ("u,v,label\n" if header else "") + ROWS)
    samples = load(tmp_path, header=header, kernels=[{"family": "rank-one"}])
    assert samples.kernels == names
    np.testing.assert_array_equal(samples.features, FEATURES[samples.order])


def test_rank_one_kernels_of_encoded_text_are_named_after_column_and_word(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{'xyz'[i % 3]},{i},{'ab'[i % 2]}\n" for i in range(9)))
    samples = load(tmp_path, encode="onehot", kernels=[{"family": "rank-one"}])
    assert samples.kernels == ("0_x", "0_y", "0_z", "1")


def test_standard_scale_of_tiny_numbers(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i}e-200,{'ab'[i % 2]}\n" for i in range(9)))
    features = dense(load(tmp_path, scale="standard"))
    np.testing.assert_allclose(features.std(axis=0), 1)
