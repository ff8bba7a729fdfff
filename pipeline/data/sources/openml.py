"""Source `openml`: a dataset of openml.org."""

import warnings
from http.client import HTTPException
from pathlib import Path
from typing import Literal

from pydantic import Field

from kernel_pipeline.config.datasets import SOURCES, TableDataset, TargetColumns
from kernel_pipeline.data.raw_table import READERS, RawTable
from kernel_pipeline.errors import DataError


@SOURCES.register("openml")
class OpenmlDataset(TableDataset):
    """A dataset of openml.org, which scikit-learn downloads once and caches."""

    source: Literal["openml"]
    id: int | str = Field(description="id or name of the dataset on openml.org")
    target: TargetColumns = Field(
        "", description="name of the target column, or a list of them; default: the target that OpenML names"
    )


@READERS.register("openml")
def _read(dataset: OpenmlDataset, folder: Path, seed: int) -> RawTable:
    import pandas as pd
    from sklearn.datasets import fetch_openml

    from kernel_pipeline.data.tables import table_from_frame

    which = {"data_id": dataset.id} if isinstance(dataset.id, int) else {"name": dataset.id}
    try:
        with warnings.catch_warnings():
            # The warnings are about retries, several versions of a name, and problems that OpenML registered.
            warnings.simplefilter("ignore")
            bunch = fetch_openml(**which, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError, HTTPException) as error:
        raise DataError(
            f"dataset {dataset.name!r}: cannot download {dataset.id!r} from OpenML: {error}. Without a network, copy "
            f"its ARFF file to {folder / dataset.name}.arff and set source = 'file', "
            f"path = '{dataset.name}.arff', format = 'arff'"
        ) from None
    if bunch.target is None and dataset.target == "":
        raise DataError(
            f"dataset {dataset.name!r}: OpenML does not name a target for {dataset.id!r}; set target = 'COLUMN'"
        )
    return table_from_frame(pd.concat([bunch.data, bunch.target], axis=1), dataset)
