"""Files of format libsvm, whose columns stay sparse with a rank-one family."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.data.data_directory import DATA_DIR_VARIABLE
from kernel_pipeline.errors import DataError
from tests.helpers.build import FEATURES, LABELS, load, put
from tests.pipeline.data.documents import filled

LIBSVM = "".join(f"{1 if i % 2 else -1} 1:{i} 2:{2 * i % 5}\n" for i in range(9))


RANK_ONE = [{"family": "rank-one"}]


@pytest.mark.parametrize("name", ["things.libsvm", "things.libsvm.gz"])
def test_libsvm_of_rank_one_kernels_stays_sparse(name: str, tmp_path: Path) -> None:
    put(tmp_path, LIBSVM, name)
    samples = load(tmp_path, path=name, format="libsvm", kernels=RANK_ONE)
    assert samples.kernels == ("0", "1")
    np.testing.assert_array_equal(filled(samples.features), FEATURES[samples.order])
    np.testing.assert_array_equal(samples.targets["classification"], LABELS[samples.order])


def test_libsvm_of_gaussian_kernels_becomes_dense(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM, "things.libsvm")
    sparse = load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    dense = load(tmp_path, path="things.libsvm", format="libsvm")
    assert isinstance(dense.features, np.ndarray)
    np.testing.assert_array_equal(filled(sparse.features), dense.features)
    np.testing.assert_array_equal(sparse.order, dense.order)


def test_libsvm_columns_without_a_number_are_left_out_and_the_others_keep_their_names(tmp_path: Path) -> None:
    put(tmp_path, LIBSVM + "1 7:0 9:3\n", "things.libsvm")
    samples = load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    assert samples.kernels == ("0", "1", "8")
    assert samples.features.shape == (10, 3)
    np.testing.assert_array_equal(filled(samples.features)[:, 2], np.where(samples.order == 9, 3.0, 0.0))


@pytest.mark.parametrize("cell", ["nan", "inf", "-inf", "1e200"])
@pytest.mark.parametrize("line", ["1 1:2 2:{}", "{} 1:2 2:3"], ids=["feature", "target"])
def test_libsvm_numbers_that_are_not_usable(line: str, cell: str, tmp_path: Path) -> None:
    put(tmp_path, LIBSVM + line.format(cell) + "\n", "things.libsvm")
    dataset: dict[str, Any] = {"path": "things.libsvm", "format": "libsvm", "kernels": RANK_ONE}
    with pytest.raises(DataError) as caught:
        load(tmp_path, **dataset)
    for word in ("dataset 'things'", "row 10", f"found {float(cell)}", "1 of 10 rows", "missing = 'drop'"):
        assert word in str(caught.value)
    samples = load(tmp_path, **dataset, missing="drop")
    assert samples.left_out == 1
    assert sorted(samples.order) == list(range(9))
    np.testing.assert_array_equal(filled(samples.features), FEATURES[samples.order])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["0 rows"]),
        ("1,2,3\n", ["cannot read", "'libsvm'"]),
        ("1 2:3 1:2\n", ["cannot read", "'libsvm'", "sorted"]),
        ("1\n-1\n" * 4, ["every feature column is constant"]),
        ("1 1:5\n-1 1:5\n" * 4, ["every feature column is constant"]),
        ("1 1:5\n" * 8, ["one class"]),
    ],
)
def test_libsvm_files_that_cannot_be_used(content: str, words: list[str], tmp_path: Path) -> None:
    put(tmp_path, content, "things.libsvm")
    with pytest.raises(DataError) as caught:
        load(tmp_path, path="things.libsvm", format="libsvm", kernels=RANK_ONE)
    for word in ("dataset 'things'", *words):
        assert word in str(caught.value)


def test_a_missing_or_broken_libsvm_file(tmp_path: Path) -> None:
    dataset: dict[str, Any] = {"path": "things.gz", "format": "libsvm", "kernels": RANK_ONE}
    with pytest.raises(DataError, match=rf"there is no file .*things\.gz.*{DATA_DIR_VARIABLE}"):
        load(tmp_path, **dataset)
    (tmp_path / "things.gz").write_text(LIBSVM)
    with pytest.raises(DataError, match=r"cannot read .*things\.gz.*Not a gzipped file"):
        load(tmp_path, **dataset)
