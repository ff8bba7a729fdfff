"""Source `synthetic`: generated data."""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from kernel_pipeline.config.datasets import SOURCES, NumbersDataset, Problem
from kernel_pipeline.data.raw_table import READERS, RawTable

LEGACY_SEEDS = 2**32
"""Number of seeds that the legacy generators of numpy, which scikit-learn uses, accept."""


@SOURCES.register("synthetic")
class SyntheticDataset(NumbersDataset):
    """The regression problem `make_friedman1`; its classes are the targets above and below the median."""

    source: Literal["synthetic"]
    task: list[Problem] = Field(min_length=1, max_length=1, description="one task")
    rows: int = Field(1000, ge=1, description="number of samples")
    features: int = Field(10, ge=5, description="number of columns; the target depends on the first five")
    noise: float = Field(1.0, ge=0, allow_inf_nan=False, description="standard deviation of the noise of the target")


@READERS.register("synthetic")
def _read(dataset: SyntheticDataset, folder: Path, seed: int) -> RawTable:
    import pandas as pd
    from sklearn.datasets import make_friedman1

    from kernel_pipeline.data.frames import TARGET, table_from_numbers
    from kernel_pipeline.data.table_size import check_table

    check_table(dataset.rows, dataset.features, dataset.name)
    random = np.random.RandomState(seed if seed < LEGACY_SEEDS else np.random.MT19937(np.random.SeedSequence(seed)))
    features, target = make_friedman1(dataset.rows, dataset.features, noise=dataset.noise, random_state=random)
    if dataset.task == ["classification"]:
        target = np.where(target > np.median(target), 1.0, -1.0)
    frame = pd.DataFrame(features)
    frame[TARGET] = target
    return table_from_numbers(frame, dataset.name)
