"""Build small configs and files for tests."""

import copy
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.data.sources.file import FileDataset
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats

# The source tree, whose tests another process may import.
PROJECT = Path(__file__).parents[2]

GAUSSIAN: dict[str, Any] = {"family": "gaussian", "log2_gamma": [-1, 0]}

# Nine rows of two numbers and a label, five of class a.
ROWS = "".join(f"{i},{2 * i % 5},{'ab'[i % 2]}\n" for i in range(9))
FEATURES = np.array([[float(i), float(2 * i % 5)] for i in range(9)])
LABELS = np.array([1.0 if i % 2 else -1.0 for i in range(9)])


def config_values(**dataset: Any) -> dict[str, Any]:
    """Return the values of a config with one file dataset, three folds and one method."""
    return {
        "name": "small",
        "baselines": False,
        "methods": ["unif"],
        "protocol": {"folds": 3},
        "dataset": [
            {
                "name": "things",
                "task": "classification",
                "source": "file",
                "path": "things.csv",
                "format": "csv",
                "kernels": [copy.deepcopy(GAUSSIAN)],
                **dataset,
            }
        ],
    }


def synthetic_values(**dataset: Any) -> dict[str, Any]:
    """Return the values of a config with a synthetic dataset: 10 rows, 5 features, 2 kernels, 2 methods, 3 folds."""
    return {
        "name": "small",
        "baselines": False,
        "methods": ["unif", "alignf"],
        "protocol": {"folds": 3},
        "storage": {"tile": 4},
        "dataset": [
            {
                "name": "made",
                "task": "regression",
                "source": "synthetic",
                "rows": 10,
                "features": 5,
                "kernels": [copy.deepcopy(GAUSSIAN)],
                **dataset,
            }
        ],
    }


def either(names: Iterable[str]) -> str:
    """Return the names as a message lists them: 'a', 'b' or 'c'."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}"


def parsed(values: dict[str, Any]) -> Config:
    return parse_config(values, "the test")


def file_dataset(**dataset: Any) -> FileDataset:
    """Return the dataset of `config_values`."""
    found = parsed(config_values(**dataset)).dataset[0]
    assert isinstance(found, FileDataset)
    return found


def load(
    folder: Path, seed: int = 0, folds: int = 3, dataset_folds: int | str | None = None, **dataset: Any
) -> PreparedDataset:
    """Prepare the only dataset of a config; `dataset_folds` is the key `folds` of the dataset."""
    if dataset_folds is not None:
        dataset["folds"] = dataset_folds
    values = config_values(**dataset) | {"seed": seed, "protocol": {"folds": folds}}
    config = parsed(values)
    return prepare_dataset(config, config.dataset[0], folder)


def dense(samples: PreparedDataset) -> Floats:
    """Return the features of samples that are not stored as a sparse matrix."""
    assert isinstance(samples.features, np.ndarray)
    return samples.features


def put(folder: Path, content: str | bytes, name: str = "things.csv") -> Path:
    """Write a file; it is compressed if its name ends with .gz."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def refused(folder: Path, content: str, **dataset: Any) -> str:
    """Return the error message for a file that must be rejected."""
    put(folder, content)
    with pytest.raises(DataError) as caught:
        load(folder, **dataset)
    assert "dataset 'things'" in str(caught.value)
    return str(caught.value)


def put_config(folder: Path, values: dict[str, Any], name: str = "sweep.toml") -> Path:
    path = folder / name
    path.write_text(tomli_w.dumps(values))
    return path


def listing(folder: Path) -> dict[str, bytes | None]:
    """Return all paths below a folder, with the content of files and None for directories."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def leaves(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Iterate over the values of a config and their paths; a list of numbers or strings is one value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*place, number))
    else:
        yield place, value


def changed(values: dict[str, Any], place: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """Return a copy of the values of a config in which one value is replaced or added."""
    result = copy.deepcopy(values)
    inner: Any = result
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return result
