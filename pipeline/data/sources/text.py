"""Source `text`: a file with one document per line."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from kernel_pipeline.config.datasets import SOURCES, Positive
from kernel_pipeline.config.text_datasets import DocumentsDataset, RawTextDataset
from kernel_pipeline.data.raw_table import READERS, RawTable
from kernel_pipeline.errors import DataError

BLANK_LABEL = "0"
"""Label of a blank line, which is dropped later because it has no word."""


@SOURCES.register("text")
class TextDataset(DocumentsDataset, RawTextDataset):
    """A file with one document per line, which begins with its label; files that end in .gz are decompressed."""

    source: Literal["text"]
    positive: Positive = None

    def source_files(self) -> list[str]:
        """Return the path of the file."""
        return [self.path]


@READERS.register("text")
def _read(dataset: TextDataset, folder: Path, seed: int) -> RawTable:
    import pandas as pd

    from kernel_pipeline.data.data_directory import data_path
    from kernel_pipeline.data.documents import table_from_documents
    from kernel_pipeline.data.word_counts import count_words

    path = data_path(folder, dataset.path)
    labels, texts = _split_lines(dataset, path)
    _check_labels(labels, path, dataset.name)
    documents = count_words(texts, pd.Series(labels), dataset, path)
    return table_from_documents(documents, dataset, missing=dataset.missing, positive=dataset.positive)


def _split_lines(dataset: TextDataset, path: Path) -> tuple[list[str], list[str]]:
    """Return the labels and the texts of all lines."""
    from kernel_pipeline.data.documents import read_lines

    labels: list[str] = []
    texts: list[str] = []
    for number, line in enumerate(read_lines(path, dataset.name), start=1):
        try:
            label, *text = line.decode("utf-8-sig").split(maxsplit=1)
        except UnicodeDecodeError as error:
            raise DataError(f"dataset {dataset.name!r}: {path}, line {number}: {error}") from None
        except ValueError:  # a blank line cannot be unpacked
            if dataset.missing == "drop":
                label, text = BLANK_LABEL, []
            else:
                raise DataError(
                    f"dataset {dataset.name!r}: {path}, line {number} is blank; a line must contain a label, followed "
                    "by the text. Drop blank lines: missing = 'drop'"
                ) from None
        labels.append(label)
        texts.append("".join(text))
    return labels, texts


def _check_labels(labels: list[str], path: Path, dataset: str) -> None:
    """Raise a `DataError` if all labels are numbers and one of them is too large."""
    import pandas as pd

    from kernel_pipeline.data.encoding import MAX_MAGNITUDE

    numbers = np.abs(pd.to_numeric(pd.Series(labels), errors="coerce").to_numpy(np.float64))
    if not np.isnan(numbers).any() and (numbers >= MAX_MAGNITUDE).any():
        row = int(np.argmax(numbers >= MAX_MAGNITUDE))
        raise DataError(
            f"dataset {dataset!r}: {path}, line {row + 1}: the label {labels[row]} is too large; its absolute value "
            f"must be below {MAX_MAGNITUDE:g}"
        )
