"""Views of the columns of a file: what names, numbers and encoded text refer to."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.errors import ConfigError
from tests.helpers.build import GAUSSIAN, dense, load, put

RANK_ONE = {"family": "rank-one"}
LINEAR = {"family": "linear"}
COLORS = ("red", "green", "blue")
# The target is in the middle, and `id` is dropped.
TABLE = "id,age,label,color,weight\n" + "".join(
    f"{100 + i},{20 + i},{'ab'[i % 2]},{COLORS[i % 3]},{i * i % 7}\n" for i in range(12)
)
KEYS: dict[str, Any] = {"target": "label", "drop": ["id"], "encode": "onehot"}
# Columns 1, 4 and 7 of the file have numbers; columns of a libsvm file count from 0 if one of them is 0.
LIBSVM = "".join(f"{'+1' if i % 2 else '-1'} 0:{i + 1} 3:{i % 4 + 1} 7:{i * i % 5 + 1}\n" for i in range(12))


def names(folder: Path, **changes: Any) -> tuple[str, ...]:
    """Return the names of the kernels, with one linear kernel for each chosen column."""
    entry = LINEAR | {"each": "column"} | changes
    return load(folder, **KEYS, kernels=[entry]).kernels


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["age", "weight"], ["age", "weight"]),
        ([1], ["age"]),
        ([3], ["color_blue", "color_green", "color_red"]),
        ([4], ["weight"]),
        (["1-3"], ["age", "color_blue", "color_green", "color_red"]),
        (["color"], ["color_blue", "color_green", "color_red"]),
        (["color_*"], ["color_blue", "color_green", "color_red"]),
        (["color_red", "age"], ["age", "color_red"]),
    ],
)
def test_numbers_count_the_columns_of_the_file_like_target_and_drop(
    columns: list[int | str], expected: list[str], tmp_path: Path
) -> None:
    put(tmp_path, TABLE)
    assert names(tmp_path, columns=columns) == tuple(f"{name}:linear" for name in expected)


@pytest.mark.parametrize("column", [0, 2, "id", "label", 5])
def test_the_target_and_dropped_columns_are_not_features(column: int | str, tmp_path: Path) -> None:
    put(tmp_path, TABLE)
    with pytest.raises(ConfigError, match=rf"^dataset 'things': kernels\[0\]\.columns: {column!r} is not"):
        names(tmp_path, columns=[column])


def test_columns_without_a_name_are_named_by_their_numbers(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{'ab'[i % 2]},{i * i % 5},{i % 3}\n" for i in range(9)))
    samples = load(tmp_path, target=1, kernels=[LINEAR | {"columns": ["2-3"], "each": "column"}, GAUSSIAN])
    assert samples.kernels[:2] == ("2:linear", "3:linear")
    assert samples.info.features == FeatureColumns(("0", "2", "3"), numbers=(0, 2, 3))


def test_numbers_of_a_libsvm_file_are_those_in_the_file(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM)
    samples = load(tmp_path, format="libsvm", kernels=[LINEAR | {"columns": ["3-7"], "each": "column"}])
    assert samples.kernels == ("3:linear", "7:linear")


def test_a_rank_one_family_alone_keeps_the_columns_that_it_chooses(tmp_path: Path) -> None:
    put(tmp_path, TABLE)
    every = load(tmp_path, **KEYS, kernels=[RANK_ONE])
    chosen = load(tmp_path, **KEYS, kernels=[RANK_ONE | {"columns": ["weight", "color_red"], "name": "some"}])
    assert every.kernels == ("age", "color_blue", "color_green", "color_red", "weight")
    assert chosen.kernels == ("some:color_red", "some:weight")
    np.testing.assert_array_equal(dense(chosen), dense(every)[:, [3, 4]])
    assert chosen.info.features is every.info.features is None
    assert chosen.info.columns == 2


def test_a_rank_one_family_of_a_libsvm_file_stays_sparse(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM)
    samples = load(tmp_path, format="libsvm", kernels=[RANK_ONE | {"columns": [0, "7"]}])
    assert not isinstance(samples.features, np.ndarray)
    assert samples.kernels == ("0", "7")
    expected = np.array([[i + 1, i * i % 5 + 1] for i in range(12)])
    np.testing.assert_array_equal(samples.features.toarray(), expected[samples.order])


def test_the_fingerprint_depends_on_the_columns_only_if_kernels_do(tmp_path: Path) -> None:
    def fingerprints(kernel: dict[str, Any]) -> set[str]:
        found = set()
        for header in ("id,age,label,color,weight", "id,years,label,color,weight"):
            put(tmp_path, TABLE.replace("id,age,label,color,weight", header))
            found.add(load(tmp_path, **KEYS, kernels=[kernel]).fingerprint)
        return found

    assert len(fingerprints(GAUSSIAN)) == 1
    assert len(fingerprints(GAUSSIAN | {"columns": ["weight"]})) == 2


def test_notes_are_about_the_columns_of_a_view(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i},{10**9 * i},{'ab'[i % 2]}\n" for i in range(9)))
    large = GAUSSIAN | {"columns": [1]}
    assert "columns '1'" in "".join(load(tmp_path, kernels=[large]).notes)
    assert "columns '" not in "".join(load(tmp_path, kernels=[large | {"columns": [0]}]).notes)
