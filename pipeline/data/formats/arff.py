"""Read the ARFF format of Weka and OpenML."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kernel_pipeline.data.formats.format import Format, ReadOptions, register

if TYPE_CHECKING:
    import pandas as pd


def _read(path: Path, options: ReadOptions) -> pd.DataFrame:
    import pandas as pd
    from scipy.io import arff

    with _open_text(path) as file:
        records, _ = arff.loadarff(file)
    frame = pd.DataFrame(records)
    for column in frame.select_dtypes(object):  # nominal values are bytes
        frame[column] = frame[column].str.decode("utf-8").mask(frame[column] == b"?")
    return frame


def _open_text(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


register("arff", Format(_read), ".arff")
