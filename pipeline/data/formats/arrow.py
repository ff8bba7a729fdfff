"""Read the column formats of Apache Arrow: parquet and feather."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.data.formats.format import Format, ReadOptions, register

if TYPE_CHECKING:
    import pandas as pd


def _read_parquet(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)  # an index of pandas is not a column


def _read_feather(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd

    return pd.read_feather(path).reset_index(drop=True)


register("parquet", Format(_read_parquet), ".parquet")
register("feather", Format(_read_feather), ".feather")
