"""Source `file`: a file in one of several formats."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from kernel_pipeline.config.datasets import SOURCES, DataPath, TableDataset
from kernel_pipeline.config.families import requested_kinds
from kernel_pipeline.config.registry_fields import NameIn
from kernel_pipeline.config.text_datasets import WORDS, RawTextDataset, word_choice
from kernel_pipeline.data.data_directory import data_path, require_path
from kernel_pipeline.data.formats.format import FORMATS, ReadOptions, SparseColumns, explain_errors
from kernel_pipeline.data.raw_table import READERS, RawTable

if TYPE_CHECKING:
    import pandas as pd

COLUMN_KEYS = ("drop", "index", "groups", "folds", "test")
"""Keys that name columns which are not features, besides the target."""
VALUE_KEYS = ("encode", "categorical", "scale", "missing", "missing_values")
"""Keys that state how the values of features are read and changed."""
INVALID_SEPARATORS = ('"', " ", "\n", "\r")


@SOURCES.register("file")
class FileDataset(TableDataset, RawTextDataset):
    """A file in the data directory; files that end in .gz are decompressed."""

    column_kinds: ClassVar[tuple[str, ...]] = ("columns", *WORDS)

    source: Literal["file"]
    path: DataPath
    format: Annotated[str, NameIn(FORMATS)] = Field(
        description="'table' has columns separated by whitespace; an npz file contains 'features' and 'target'"
    )
    header: bool | None = Field(
        None,
        description="csv and table: whether the first line contains the names of the columns; default: true if a "
        "column is given by its name, or if the first line is text above numbers",
    )
    text: int | str | None = Field(
        None,
        description="number or name of a column of documents, whose words are the features of a rank-one family; "
        "no other column is a feature",
    )
    separator: str | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="csv: character between two columns; default: ',', ';', a tab or '|', whichever gives the same "
        "number of fields in the first lines; with decimal = ',', not the comma",
    )
    decimal: Literal[".", ","] | None = Field(None, description="csv and table: decimal separator; default: '.'")
    encoding: str | None = Field(None, description="csv and table: encoding of the file; default: 'utf-8'")
    test_path: DataPath | None = Field(None, description="another file of the same format, with a fixed test set")

    @field_validator("separator", mode="before")
    @classmethod
    def _check_tab(cls, value: object) -> object:
        if isinstance(value, str) and value.lower() in ("\\t", "tab"):
            raise ValueError(
                f"'{value}' is not a single character; a tab is written in double quotes with one backslash: "
                'separator = "\\t"'
            )
        return value

    @field_validator("separator")
    @classmethod
    def _check_separator(cls, value: str | None) -> str | None:
        if value is not None and value in INVALID_SEPARATORS:
            raise ValueError(f"{value!r} cannot be a separator; for columns separated by spaces, set format = 'table'")
        return value

    @field_validator("encoding")
    @classmethod
    def _check_encoding(cls, value: str | None) -> str | None:
        try:
            codecs.lookup(value or "utf-8")
        except LookupError:
            raise ValueError(f"{value!r} is not an encoding; common ones are 'utf-8', 'latin-1' and 'utf-16'") from None
        return value

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if FORMATS[self.format].marks_target and self.target != -1:
            raise ValueError(f"target = {self.target!r}: format {self.format!r} defines the target; remove this key")
        return self

    @model_validator(mode="after")
    def _check_format_keys(self) -> Self:
        for key in ("separator", "decimal", "encoding"):
            formats = [repr(name) for name, found in FORMATS.items() if key in found.keys]
            if getattr(self, key) is not None and repr(self.format) not in formats:
                raise ValueError(
                    f"{key} = {getattr(self, key)!r}: only format = {' or '.join(formats)} supports this key; remove it"
                )
        if self.separator is not None and self.separator == (self.decimal or "."):
            raise ValueError(
                f"separator = {self.separator!r} is also the decimal separator; set separator or decimal to another "
                "character"
            )
        return self

    @model_validator(mode="after")
    def _check_sparse_keys(self) -> Self:
        for key in (*COLUMN_KEYS, *VALUE_KEYS):
            value, default = getattr(self, key), type(self).model_fields[key].default
            if self.sparse and value != default and (key, value) != ("missing", "drop"):
                raise ValueError(
                    f"{key} = {value!r}: with a rank-one family, the columns of a {self.format} file are used "
                    "unchanged; remove this key"
                )
        return self

    @model_validator(mode="after")
    def _check_test_set(self) -> Self:
        if self.test is not None and self.test_path is not None:
            raise ValueError(
                f"test = {self.test!r} and test_path = {self.test_path!r} both give the test set; remove one"
            )
        return self

    @model_validator(mode="after")
    def _check_word_keys(self) -> Self:
        if self.text is not None:
            return self
        for key in ("counts", "min_df", "stop_words", "lowercase"):
            value = getattr(self, key)
            if value is not None:
                raise ValueError(
                    f"{key} = {value!r} is for documents; name the column that contains them: text = 'COLUMN'"
                )
        for kind in requested_kinds(self.kernels):
            if kind in WORDS:
                raise ValueError(
                    f"features = {kind!r} is not available for this file. Available: columns. If a column contains "
                    "documents, name it: text = 'COLUMN'"
                )
        return self

    @model_validator(mode="after")
    def _check_text_keys(self) -> Self:
        if self.text is None:
            return self
        if FORMATS[self.format].marks_target:
            raise ValueError(f"text = {self.text!r}: format {self.format!r} contains numbers only; remove this key")
        try:
            choice = word_choice(self.kernels)
        except ValueError as error:
            raise ValueError(f"text = {self.text!r}: {error}") from None
        if "columns" in choice.kinds:
            raise ValueError(
                f"text = {self.text!r}: the features are words; set features of the rank-one family to 'unigrams', "
                "'bigrams' or a list of both"
            )
        for key in VALUE_KEYS:
            value, default = getattr(self, key), type(self).model_fields[key].default
            if value != default and (key, value) != ("missing", "drop"):
                raise ValueError(f"{key} = {value!r}: with text = {self.text!r}, the features are words; remove {key}")
        return self

    @property
    def has_words(self) -> bool:
        """Whether the columns are the words of a text column."""
        return self.text is not None

    @property
    def fixed_test(self) -> bool:
        """Whether the test set is fixed, so that trials vary only the training and validation sets."""
        return super().fixed_test or self.test_path is not None

    @property
    def names_columns(self) -> bool:
        """Whether a key gives a column by its name, so that the columns must have names."""
        targets = self.target if isinstance(self.target, list) else [self.target]
        named = (*targets, *self.drop, *(self.categorical or ()))
        columns = (*named, self.index, self.groups, self.folds, self.test, self.text)
        return any(isinstance(column, str) for column in columns)

    @property
    def sparse(self) -> bool:
        """Return whether the columns stay sparse."""
        return self.column_family is not None and FORMATS[self.format].read_sparse is not None

    def source_files(self) -> list[str]:
        """Return the path of the file, and that of the test set if there is one."""
        return [self.path] if self.test_path is None else [self.path, self.test_path]


@READERS.register("file")
def _read(dataset: FileDataset, folder: Path, seed: int) -> RawTable:
    paths = [
        require_path(data_path(folder, name), "file", dataset.name, key)
        for key, name in zip(("path", "test_path"), dataset.source_files(), strict=False)
    ]
    read_sparse = FORMATS[dataset.format].read_sparse
    if dataset.sparse and read_sparse is not None:
        return _read_sparse(read_sparse, paths, dataset)
    return _read_table(paths, dataset)


def _read_sparse(read_sparse: Callable[[Path], SparseColumns], paths: list[Path], dataset: FileDataset) -> RawTable:
    """Read the file, followed by that of a test set, with columns that stay sparse."""
    from kernel_pipeline.data.sparse_columns import append_rows, table_from_sparse

    parts = []
    for path in paths:
        with explain_errors(path, dataset.format, dataset.name):
            parts.append(read_sparse(path))
    columns = append_rows(*parts) if len(parts) > 1 else parts[0]
    table = table_from_sparse(columns, paths[0], dataset.name, dataset.missing, dataset.positive)
    return replace(table, test=table.rows >= len(parts[0].target)) if len(parts) > 1 else table


def _read_table(paths: list[Path], dataset: FileDataset) -> RawTable:
    """Read the file, followed by that of a test set, as a data frame."""
    from kernel_pipeline.data.column_notes import target_note
    from kernel_pipeline.data.table_rows import TableRows
    from kernel_pipeline.data.tables import append_rows, table_from_frame, with_folds

    frame, notes, header_hint = _read_file(paths[0], dataset)
    if not FORMATS[dataset.format].marks_target:
        notes += target_note(frame, dataset)
    test_from = len(frame) if len(paths) > 1 else None
    for path in paths[1:]:
        more, more_notes = read_frame(path, dataset)
        if FORMATS[dataset.format].read_sparse is not None:  # such formats leave out columns that are zero
            more = more.reindex(columns=frame.columns, fill_value=0.0)
        frame, notes = append_rows(frame, more, dataset, path), (*notes, *more_notes)
    if dataset.text is None:
        table = replace(table_from_frame(frame, dataset, notes, test_from), header_hint=header_hint)
        if isinstance(table.encoder, TableRows) and FORMATS[dataset.format].read_sparse is not None:
            table = replace(table, encoder=replace(table.encoder, absent_is_zero=True))
        elif isinstance(table.encoder, TableRows) and dataset.decimal == ",":
            table = replace(table, encoder=replace(table.encoder, decimal_comma=True))
        return table
    table = _count_words(frame, dataset.text, dataset, paths[0])
    table = with_folds(table, frame, dataset, test_from)
    return replace(table, notes=(*notes, *table.notes), header_hint=header_hint)


def _count_words(frame: pd.DataFrame, text: int | str, dataset: FileDataset, path: Path) -> RawTable:
    """Count the words of a text column."""
    from kernel_pipeline.data.tables import find_roles
    from kernel_pipeline.data.text_column import table_from_text_column

    return table_from_text_column(
        frame,
        dataset,
        path,
        text=text,
        target=dataset.target,
        drop=dataset.drop,
        missing=dataset.missing,
        positive=dataset.positive,
        reserved=list(find_roles(frame, dataset).values()),
    )


def read_frame(path: Path, dataset: FileDataset, for_model: bool = False) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return a file as a data frame, before the target is chosen and text is encoded, and notes about it."""
    return _read_file(path, dataset, for_model)[:2]


def _read_file(path: Path, dataset: FileDataset, for_model: bool = False) -> tuple[pd.DataFrame, tuple[str, ...], str]:
    """Return a file as `read_frame` does, and what to do if its first row contains the names of the columns."""
    options = ReadOptions(
        dataset.name,
        header=(dataset.names_columns or None) if dataset.header is None else dataset.header,
        drop=dataset.drop,
        separator=dataset.separator,
        decimal=dataset.decimal or ".",
        encoding=dataset.encoding or "utf-8",
        has_config=not for_model,
    )
    chosen = FORMATS[dataset.format]
    notes: tuple[str, ...] = ()
    header_hint = ""
    with explain_errors(path, dataset.format, dataset.name, for_model):
        if chosen.detect is not None:
            detected = chosen.detect(path, options)
            options, notes, header_hint = detected.options, detected.notes, detected.header_hint
        return chosen.read(path, options), notes, header_hint
