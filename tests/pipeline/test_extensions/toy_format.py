"""A file format in one file, as a user would write it: columns separated by semicolons."""

from pathlib import Path

import pandas as pd

from kernel_pipeline.data.formats.format import Format, ReadOptions


def read_semicolons(path: Path, options: ReadOptions) -> pd.DataFrame:
    """Read the file; the decimal separator is a comma."""
    return pd.read_csv(path, sep=";", decimal=",", header=0 if options.header else None)


SEMICOLONS = Format(read_semicolons)
