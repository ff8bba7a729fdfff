"""Read the npz format of numpy, with the arrays `features` of shape (m, d) and `target` of shape (m,)."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.data.formats.format import Format, ReadOptions, register

if TYPE_CHECKING:
    import pandas as pd


def _read(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd

    from kernel_pipeline.data.frames import TARGET

    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an npz file")
    with np.load(path, allow_pickle=False) as arrays:
        if not {"features", "target"} <= set(arrays):
            raise ValueError(f"it contains {sorted(arrays)}; 'features' and 'target' are required")
        features, target = arrays["features"], arrays["target"]
    if features.dtype.kind not in "biuf" or target.dtype.kind not in "biufU":
        raise ValueError(
            f"features have the type {features.dtype} and target has the type {target.dtype}; real numbers are "
            "required, or text for the target"
        )
    if features.ndim != 2 or target.shape != features.shape[:1]:
        raise ValueError(
            f"features have the shape {features.shape} and target has the shape {target.shape}; "
            "(m, d) and (m,) are required"
        )
    frame = pd.DataFrame(features)
    frame[TARGET] = target
    return frame


register("npz", Format(_read, marks_target=True), ".npz")
