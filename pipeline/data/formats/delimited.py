"""Text files with one row per line: columns are separated by commas or by whitespace."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.data.formats.format import FORMATS, Format, ReadOptions

if TYPE_CHECKING:
    import pandas as pd

MISSING_VALUES = ["", "?", "nan", "NaN", "NA"]
"""Cells without a value; pandas has a longer list, but a class may be called None."""


def _reader(separator: str) -> Callable[[Path, ReadOptions], pd.DataFrame]:
    def read(path: Path, options: ReadOptions) -> pd.DataFrame:
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows that are longer than the header
            return pd.read_csv(
                path,
                sep=separator,
                header=0 if options.header else None,
                index_col=False,
                skipinitialspace=True,
                skip_blank_lines=True,
                keep_default_na=False,
                na_values=MISSING_VALUES,
                low_memory=False,
            )

    return read


FORMATS.register("csv")(Format(_reader(",")))
FORMATS.register("table")(Format(_reader(r"\s+")))
