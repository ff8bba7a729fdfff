"""File formats: each reader turns a file into a table whose columns are features and the target."""

import gzip
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.datasets import FileDataset
from kernel_pipeline.data.table_size import check_table
from kernel_pipeline.errors import DataError, PipelineError
from kernel_pipeline.tasks.arrays import Floats, Integers

TARGET = "target"
MAX_COLUMNS = 5_000_000
"""Largest number of columns of a sparse file; each is a kernel with a name."""


def read_table(path: Path, dataset: FileDataset) -> pd.DataFrame:
    """Read a file. In formats that mark the target themselves it comes as the last column, `target`."""
    with _in_words(path, dataset):
        return READERS[dataset.format](path, dataset)


def read_libsvm(path: Path, dataset: FileDataset) -> tuple[scipy.sparse.csr_array, Integers, Floats]:
    """Read a libsvm file without filling in its zeros.

    Returns
    -------
    features, columns, target
        Only columns that hold a number are there; `columns` are their numbers in the file.
    """
    with _in_words(path, dataset):
        return _load_libsvm(path)


@contextmanager
def _in_words(path: Path, dataset: FileDataset) -> Iterator[None]:
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:  # the readers raise whatever they meet in a broken file
        reason = str(error).strip() or "no data found"
        raise DataError(f"dataset {dataset.name!r}: cannot read {path} as {dataset.format!r}: {reason}") from None


def _delimited(separator: str) -> Callable[[Path, FileDataset], pd.DataFrame]:
    def read(path: Path, dataset: FileDataset) -> pd.DataFrame:
        header = isinstance(dataset.target, str) if dataset.header is None else dataset.header
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header
            return pd.read_csv(
                path,
                sep=separator,
                header=0 if header else None,
                index_col=False,
                skipinitialspace=True,
                skip_blank_lines=True,
                keep_default_na=False,  # a class may be called None
                na_values=["", "?", "nan", "NaN", "NA"],
                low_memory=False,
            )

    return read


def _libsvm(path: Path, dataset: FileDataset) -> pd.DataFrame:
    named = [column for column in dataset.drop if isinstance(column, int)]
    features, columns, target = _load_libsvm(path, named)
    check_table(*features.shape, dataset.name)
    frame = _with_target(features.toarray(), target)
    return frame.set_axis([*columns.tolist(), TARGET], axis=1)


def _load_libsvm(path: Path, named: Sequence[int] = ()) -> tuple[scipy.sparse.csr_array, Integers, Floats]:
    """Features, the numbers of their columns, and the target; columns that are `named` are kept without a number too.

    An index may be as large as an integer gets, so no array may be as long as the largest one.
    """
    from sklearn.datasets import load_svmlight_file

    loaded, target = load_svmlight_file(str(path))
    kept = [column for column in named if 0 <= column < loaded.shape[1]]
    columns = np.union1d(loaded.indices[loaded.data != 0], kept).astype(np.int64)
    if len(columns) > MAX_COLUMNS:
        raise ValueError(
            f"it has {len(columns):,} columns with numbers; at most {MAX_COLUMNS:,} are allowed. Leave out rare ones"
        )
    row_of = np.repeat(np.arange(len(target)), np.diff(loaded.indptr))
    used = np.isin(loaded.indices, columns)
    places = np.searchsorted(columns, loaded.indices[used])
    shape = (len(target), len(columns))
    features = scipy.sparse.csr_array((loaded.data[used], (row_of[used], places)), shape=shape)
    return features, columns, target


def _arff(path: Path, dataset: FileDataset) -> pd.DataFrame:
    from scipy.io import arff

    with _open_text(path) as file:
        records, _ = arff.loadarff(file)
    frame = pd.DataFrame(records)
    for column in frame.select_dtypes(object):  # nominal values come as bytes
        frame[column] = frame[column].str.decode("utf-8").mask(frame[column] == b"?")
    return frame


def _npz(path: Path, dataset: FileDataset) -> pd.DataFrame:
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an npz file")
    with np.load(path, allow_pickle=False) as arrays:
        if not {"features", TARGET} <= set(arrays):
            raise ValueError(f"it holds {sorted(arrays)}; 'features' and 'target' are needed")
        features, target = arrays["features"], arrays[TARGET]
    if features.dtype.kind not in "biuf" or target.dtype.kind not in "biufU":
        raise ValueError(
            f"features of type {features.dtype} and target of type {target.dtype}: real numbers are needed"
        )
    if features.ndim != 2 or target.shape != features.shape[:1]:
        raise ValueError(f"features {features.shape} and target {target.shape} must be (m, d) and (m,)")
    return _with_target(features, target)


READERS: dict[str, Callable[[Path, FileDataset], pd.DataFrame]] = {
    "csv": _delimited(","),
    "table": _delimited(r"\s+"),
    "libsvm": _libsvm,
    "arff": _arff,
    "npz": _npz,
}


def _with_target(features: Any, target: Any) -> pd.DataFrame:
    frame = pd.DataFrame(features)
    frame[TARGET] = target
    return frame


def _open_text(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
