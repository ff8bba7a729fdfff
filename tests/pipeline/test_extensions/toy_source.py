"""A data source in one file, as a user would write it: JSON objects, one per line, with the keys `x` and `y`."""

import json
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from kernel_pipeline.config.datasets import DataPath, NumbersDataset
from kernel_pipeline.data.data_directory import require_path
from kernel_pipeline.data.raw_table import RawTable


class JsonLinesDataset(NumbersDataset):
    """A file with one JSON object per line."""

    source: Literal["json-lines"]
    path: DataPath
    factor: float = Field(1.0, gt=0, description="factor of all features")

    def source_files(self) -> list[str]:
        """Return the file."""
        return [self.path]


def read_json_lines(dataset: JsonLinesDataset, folder: Path, seed: int) -> RawTable:
    """Read the file."""
    import pandas as pd

    path = require_path(folder / dataset.path, "file", dataset.name)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    features = dataset.factor * np.array([row["x"] for row in rows], np.float64)
    return RawTable(
        features=features,
        names=[f"x{column}" for column in range(features.shape[1])],
        target=pd.Series([row["y"] for row in rows]),
        rows=np.arange(len(rows)),
        left_out=0,
    )
