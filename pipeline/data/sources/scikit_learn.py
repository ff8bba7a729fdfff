"""Source `sklearn`: a dataset that is installed with scikit-learn."""

from pathlib import Path
from typing import Literal

import numpy as np

from kernel_pipeline.config.datasets import SOURCES, NumbersDataset, Positive
from kernel_pipeline.data.raw_table import READERS, RawTable


@SOURCES.register("sklearn")
class SklearnDataset(NumbersDataset):
    """A dataset that is installed with scikit-learn."""

    source: Literal["sklearn"]
    id: Literal["breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine"]
    positive: Positive = None


@READERS.register("sklearn")
def _read(dataset: SklearnDataset, folder: Path, seed: int) -> RawTable:
    import pandas as pd
    from sklearn import datasets

    from kernel_pipeline.data.frames import TARGET, table_from_numbers

    bunch = getattr(datasets, f"load_{dataset.id}")()
    frame = pd.DataFrame(bunch.data, columns=getattr(bunch, "feature_names", None))
    names = getattr(bunch, "target_names", None)
    if names is not None and bunch.target.ndim == 2:  # several outputs
        frame[list(names)] = bunch.target
        return table_from_numbers(frame, dataset.name, target=list(names), positive=dataset.positive)
    frame[TARGET] = bunch.target if names is None else np.asarray(names)[bunch.target].astype(str)
    return table_from_numbers(frame, dataset.name, positive=dataset.positive)
