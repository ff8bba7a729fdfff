"""Datasets of documents in small files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.data.raw_table import RawTable, read_source
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import config_values, parsed


def values(source: str, features: str | list[str] = "bigrams", top: int | None = None, **fields: Any) -> dict[str, Any]:
    family = {"family": "rank-one", "features": features} | ({} if top is None else {"top": top})
    of_source = {"domain": "books", "path": "sentiment"} if source == "sentiment" else {"path": "words.txt"}
    dataset = {"name": "things", "task": "classification", "source": source, "kernels": [family], **of_source}
    return config_values() | {"dataset": [dataset | fields]}


def read(
    folder: Path, source: str, features: str | list[str] = "bigrams", top: int | None = None, **fields: Any
) -> RawTable:
    dataset = parsed(values(source, features, top, **fields)).dataset[0]
    return read_source(dataset, folder, 0)


def ready(
    folder: Path, source: str, features: str | list[str] = "bigrams", top: int | None = None, **fields: Any
) -> PreparedDataset:
    config = parsed(values(source, features, top, **fields))
    return prepare_dataset(config, config.dataset[0], folder)


def refused(
    folder: Path, source: str, features: str | list[str] = "bigrams", top: int | None = None, **fields: Any
) -> str:
    """Return the message about documents that must be refused."""
    with pytest.raises(DataError) as caught:
        ready(folder, source, features, top, **fields)
    assert str(caught.value).startswith("dataset 'things': ")
    assert caught.value.__cause__ is None
    return str(caught.value)


def filled(features: Floats | scipy.sparse.csr_array) -> Floats:
    """Return sparse features as a dense array; they must be in canonical form."""
    assert isinstance(features, scipy.sparse.csr_array)
    assert features.has_canonical_format
    assert (features.data != 0).all()
    assert features.dtype == np.float64
    return features.toarray()
