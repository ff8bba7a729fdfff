"""Write the tables and figures of a run, and report the files that were written."""

from collections.abc import Iterator

import pandas as pd

from kernel_pipeline.results.context import Results, TableContext
from kernel_pipeline.results.figures.figure import FIGURES, figure_file
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import spreadsheet_safe


def write_tables(root: Storage, context: TableContext) -> list[str]:
    """Write all registered tables, and return the keys of their files.

    A table that does not apply to the run is not written, and a file that an earlier config left is removed.
    """
    written: list[str] = []
    for name, table in TABLES.items():
        frames = context.frames(name)
        first = next(frames, None)
        if first is None:
            for key in table.files:
                root.remove(key)
            continue
        root.write(f"{RESULTS}/{name}.csv", _csv_parts(first, frames))
        for extension, render in table.renderers.items():
            root.write(f"{RESULTS}/{name}.{extension}", render(context.whole(name)))
        written += table.files
    return written


def write_figures(root: Storage, context: TableContext) -> list[str]:
    """Draw and write all registered figures, and return the keys of their files."""
    results = Results(context)
    for name, figure in FIGURES.items():
        root.write(figure_file(name), figure.draw(results))
    return [figure_file(name) for name in FIGURES]


def _csv_parts(first: pd.DataFrame, others: Iterator[pd.DataFrame]) -> Iterator[bytes]:
    yield csv_content(first)
    for frame in others:
        yield csv_content(frame, header=False)


def csv_content(frame: pd.DataFrame, header: bool = True) -> bytes:
    """Return a table as CSV; a text that a spreadsheet would take for a formula begins with a quote."""
    for name in [str(name) for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]:
        texts = [text for text in frame[name].unique() if isinstance(text, str)]  # few, for many rows
        unsafe = {text: safe for text in texts if (safe := spreadsheet_safe(text)) != text}
        if unsafe:
            frame = frame.assign(**{name: [unsafe.get(text, text) for text in frame[name]]})
    return str(frame.to_csv(index=False, header=header, lineterminator="\n")).encode()
