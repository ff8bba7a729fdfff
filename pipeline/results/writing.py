"""Write the tables and figures of a run."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain

import pandas as pd

from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.figures.rendering import Rendered
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import spreadsheet_safe


def write_tables(root: Storage, context: TableContext) -> list[str]:
    """Write all registered tables, and return the keys of their files.

    A table that does not apply to the run is not written, and files that an earlier config left behind are removed.
    """
    written: list[str] = []
    for name, table in TABLES.items():
        frames = context.frames(name)
        first = next(frames, None)
        if first is None:
            for key in table.files:
                root.remove(key)
            continue
        content = _parquet_content(first, frames) if table.main_format == "parquet" else _csv_parts(first, frames)
        root.write(f"{RESULTS}/{name}.{table.main_format}", content)
        for extension, render in table.renderers.items():
            root.write(f"{RESULTS}/{name}.{extension}", render(context.required_table(name)))
        written += table.files
    return written


def write_figures(root: Storage, figures: Iterable[Rendered]) -> list[str]:
    """Write figures, and return the keys of their files."""
    files = {key: content for figure in figures for key, content in figure.files.items()}
    for key, content in files.items():
        root.write(key, content)
    return list(files)


def _csv_parts(first: pd.DataFrame, others: Iterator[pd.DataFrame]) -> Iterator[bytes]:
    yield csv_content(first)
    for frame in others:
        yield csv_content(frame, header=False)


def _parquet_content(first: pd.DataFrame, others: Iterator[pd.DataFrame]) -> bytes:
    """Return a parquet file with one row group per frame; all frames have the same columns and types."""
    import pyarrow
    import pyarrow.parquet

    schema, buffer = pyarrow.Schema.from_pandas(first, preserve_index=False), io.BytesIO()
    with pyarrow.parquet.ParquetWriter(buffer, schema) as writer:
        for frame in chain([first], others):
            writer.write_table(pyarrow.Table.from_pandas(frame, schema, preserve_index=False))
    return buffer.getvalue()


def csv_content(frame: pd.DataFrame, header: bool = True) -> bytes:
    """Return a table as CSV; a quote is put before text that a spreadsheet would evaluate as a formula."""
    for name in [str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]:
        texts = [text for text in frame[name].unique() if isinstance(text, str)]  # few, even in tables with many rows
        unsafe = {text: safe for text in texts if (safe := spreadsheet_safe(text)) != text}
        if unsafe:
            frame = frame.assign(**{name: [unsafe.get(text, text) for text in frame[name]]})
    return str(frame.to_csv(index=False, header=header, lineterminator="\n")).encode()
