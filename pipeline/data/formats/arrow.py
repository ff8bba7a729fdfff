"""Read the columnar formats Parquet and Feather with Apache Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.data.formats.format import Format, ReadOptions, register

if TYPE_CHECKING:
    import pandas as pd


def _read_parquet(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd
    from pyarrow import parquet

    from kernel_pipeline.data.column_checks import check_distinct

    check_distinct(parquet.read_schema(path).names, options.dataset)  # pandas cannot read a name that occurs twice
    frame = pd.read_parquet(path, engine="pyarrow")
    return frame.reset_index(drop=True)  # the index of the data frame is not a feature


def _read_feather(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd

    return pd.read_feather(path).reset_index(drop=True)


register("parquet", Format(_read_parquet), ".parquet")
register("feather", Format(_read_feather), ".feather")
