"""Read files of new rows for a model."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from kernel_pipeline.config.datasets import Dataset, DatasetBase
from kernel_pipeline.config.other_formats import COMPRESSED, EXTENSIONS
from kernel_pipeline.data.documents import read_lines
from kernel_pipeline.data.formats.format import FORMATS, explain_errors
from kernel_pipeline.data.frames import find_column
from kernel_pipeline.data.new_rows import NewRows
from kernel_pipeline.data.sources.file import FileDataset, read_frame
from kernel_pipeline.data.table_rows import TableRows
from kernel_pipeline.errors import DataError
from kernel_pipeline.models.model import FittedModel

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_FORMAT = "csv"
GARBLED = ("Ã", "Â", "\N{REPLACEMENT CHARACTER}")
"""Characters that text has if it is decoded with another encoding than its own."""
FORMAT_KEYS = ("separator", "decimal", "encoding")


def read_rows(model: FittedModel, path: Path) -> NewRows:
    """Read and encode new rows.

    Parameters
    ----------
    path
        A file in the format of its extension (such as .csv or .parquet), or else in that of the model's source. A table
        has the columns of the source, with or without the target. Documents of source `text` are one line each, without
        a label.

    Raises
    ------
    DataError
        If the file cannot be read, or its rows do not have the form of the source.
    """
    if not path.is_file():
        raise DataError(f"{path} does not exist, or is not a file; name a file of new rows")
    form = "table" if model.encoder is None else model.encoder.form
    if form == "documents":
        return model.encode(_lines(path))
    dataset = _dataset(model, path)
    if form == "sparse":
        read_sparse = FORMATS[dataset.format].read_sparse
        if read_sparse is None:
            raise DataError(f"{path}: the model has sparse columns; new rows must be in the libsvm format (.libsvm)")
        with explain_errors(path, dataset.format, dataset.name, for_model=True):
            return model.encode(read_sparse(path))
    try:
        frame, _ = read_frame(path, dataset, for_model=True)
    except DataError as error:
        options = {key: getattr(dataset, key) for key in FORMAT_KEYS if getattr(dataset, key) is not None}
        stored = ", ".join(f"{key} = {value!r}" for key, value in options.items()) or "the defaults of the format"
        raise DataError(
            f"{error}. New rows are read with the options of the model's source ({stored}); convert the file to match "
            "them"
        ) from None
    try:
        return replace(model.encode(frame), index=_index(model, frame))
    except DataError as error:
        raise DataError(f"{error}{_encoding_hint(model, frame, dataset)}") from None


def _index(model: FittedModel, frame: "pd.DataFrame") -> "pd.Series | None":
    """Return the column of new rows that is the index of the source; None if there is none, or it has no name."""
    import pandas as pd

    wanted = model.facts.source.get("index")
    if isinstance(wanted, int) and wanted is not False and isinstance(model.encoder, TableRows):
        source = pd.DataFrame(columns=list(model.encoder.columns))
        wanted = find_column(source, 0 if wanted is True else wanted, "index", model.facts.dataset)
    return frame[wanted].reset_index(drop=True) if isinstance(wanted, str) and wanted in frame else None


def _encoding_hint(model: FittedModel, frame: "pd.DataFrame", dataset: FileDataset) -> str:
    """Return a sentence about the encoding if unknown names of columns seem to be decoded incorrectly, or \"\"."""
    known = model.encoder.columns if isinstance(model.encoder, TableRows) else ()
    garbled = [name for name in map(str, frame.columns) if any(mark in name for mark in GARBLED) and name not in known]
    if not garbled:
        return ""
    return (
        f". The name {garbled[0]!r} suggests that the file has another encoding than {dataset.encoding or 'utf-8'!r}, "
        "that of the model's source; save it with this encoding"
    )


def _lines(path: Path) -> list[str]:
    try:
        return [line.decode("utf-8-sig") for line in read_lines(path, str(path))]
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8: {error}") from None


def _dataset(model: FittedModel, path: Path) -> FileDataset:
    """Return a dataset whose keys describe how to read the file; if the model's source is a file, its keys are used."""
    inner = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    by_name = EXTENSIONS.get(inner.suffix.lower())
    source: DatasetBase = TypeAdapter(dict[str, Dataset]).validate_python({"source": model.facts.source})["source"]
    if not isinstance(source, FileDataset):
        source = _table_of(source, path)
    chosen = by_name or source.format
    # The first line of a text file contains the names of the columns, if those of the source have names.
    header = None if model.encoder is None else model.encoder.has_column_names
    changes: dict[str, Any] = {"format": chosen, "name": path.name, "header": header}
    changes |= {key: None for key in FORMAT_KEYS if chosen != source.format and key not in FORMATS[chosen].keys}
    return source.model_copy(update=changes)


def _table_of(source: DatasetBase, path: Path) -> FileDataset:
    """Return a `FileDataset` for a source of another kind, whose new rows are read like those of a table."""
    values = {"name": source.name, "task": source.task, "source": "file", "path": str(path), "format": DEFAULT_FORMAT}
    return FileDataset.model_validate({**values, "kernels": source.kernels})
