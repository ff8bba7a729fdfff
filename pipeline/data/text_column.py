"""Build a `RawTable` of word counts from a data frame with a column of documents."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from kernel_pipeline.config.text_datasets import RawTextDataset
from kernel_pipeline.data.complete_rows import complete_rows, usable_cells
from kernel_pipeline.data.documents import table_from_documents
from kernel_pipeline.data.encoding import encode_features
from kernel_pipeline.data.frames import find_column, split_columns
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.word_counts import count_words
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.listing import list_first

MAX_NAMED_COLUMNS = 5
"""Maximum number of columns that a note lists."""


def table_from_text_column(
    frame: pd.DataFrame,
    dataset: RawTextDataset,
    path: Path,
    *,
    text: int | str,
    target: int | str | list[int | str],
    drop: list[int | str],
    missing: str,
    positive: list[str] | None,
    reserved: Sequence[Hashable] = (),
) -> RawTable:
    """Build a table of the word counts of one column; no other column is a feature.

    Parameters
    ----------
    frame
        The table that the file contains.
    dataset
        The dataset, whose keys determine which words are counted.
    path
        The file, for messages.
    text, target, drop, missing, positive
        As in `kernel_pipeline.data.sources.file.FileDataset`.
    reserved
        Labels of columns that are used for something else, such as the folds.
    """
    column = find_column(frame, text, "text", dataset.name)
    features, labels = split_columns(frame, dataset.name, target, drop, reserved)
    if isinstance(labels, pd.DataFrame):
        raise DataError(
            f"dataset {dataset.name!r}: text = {text!r} requires a single target column; name it: target = 'COLUMN'"
        )
    if column == labels.name:
        raise DataError(
            f"dataset {dataset.name!r}: text = {text!r} is also the target column; name the column of the labels: "
            "target = 'COLUMN' (without this key, it is the last column)"
        )
    if column not in features:
        key = f"drop = {drop} contains"
        if column in reserved:
            key = "one of the keys index, groups, folds and test names"
        raise DataError(
            f"dataset {dataset.name!r}: {key} the text column {column!r}; remove it from this key, or set text to "
            "another column"
        )
    texts = _texts(features[column], text, dataset.name)
    # Only labels are checked here; an empty text is a document without words.
    no_features = encode_features(frame[[]], None)
    complete = complete_rows(no_features, usable_cells(no_features.frame, missing), labels, missing, dataset.name)
    labels = labels.reset_index(drop=True)[complete]
    documents = count_words([texts[row] for row in labels.index], labels, dataset, path, "row")
    if documents.encoder is not None:
        documents = replace(documents, encoder=replace(documents.encoder, column=column))
    table = table_from_documents(documents, dataset, missing=missing, positive=positive)
    notes = _unused_note([name for name in features if name != column], column)
    return replace(table, left_out=table.left_out + int((~complete).sum()), notes=notes + table.notes)


def _texts(values: pd.Series, text: int | str, dataset: str) -> list[str]:
    """Return the cells as text; missing cells become empty strings."""
    if not any(isinstance(cell, str) for cell in values):
        raise DataError(
            f"dataset {dataset!r}: text = {text!r}: this column contains no text, but {values.iloc[0]} in data row 1; "
            "name the column that contains the documents"
        )
    return ["" if empty else str(cell) for cell, empty in zip(values, values.isna(), strict=True)]


def _unused_note(columns: list[Hashable], text: Hashable) -> tuple[str, ...]:
    """Return a note that names the columns that are not used, if there are any."""
    if not columns:
        return ()
    named = list_first(list(map(repr, columns)), MAX_NAMED_COLUMNS)
    subject = f"columns {named} are" if len(columns) > 1 else f"column {named} is"
    return (f"{subject} not used: the features are the words of the text column {text!r}",)
