"""Source `file`: a file in one of several formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from kernel_pipeline.config.datasets import SOURCES, DataPath, TableDataset
from kernel_pipeline.config.open_sets import NameIn
from kernel_pipeline.data.data_directory import existing
from kernel_pipeline.data.formats.format import FORMATS, ReadOptions, explain_errors
from kernel_pipeline.data.raw_table import READERS, RawTable

if TYPE_CHECKING:
    import pandas as pd


@SOURCES.register("file")
class FileDataset(TableDataset):
    """A file in the data directory; files that end in .gz are decompressed."""

    source: Literal["file"]
    path: DataPath
    format: Annotated[str, NameIn(FORMATS)] = Field(
        description="'table' has columns separated by whitespace; an npz file contains 'features' and 'target'"
    )
    header: bool | None = Field(
        None,
        description="csv and table: whether the first line contains the names of the columns; default: true if "
        "'target' is a name",
    )

    @model_validator(mode="after")
    def _target_is_marked(self) -> Self:
        if FORMATS[self.format].marks_target and self.target != -1:
            raise ValueError(f"target = {self.target!r}: format {self.format!r} defines the target; remove this key")
        return self

    @model_validator(mode="after")
    def _sparse_columns_are_kept(self) -> Self:
        for key in ("drop", "encode", "scale"):
            value, default = getattr(self, key), type(self).model_fields[key].default
            if self.sparse and value != default:
                raise ValueError(
                    f"{key} = {value!r}: with a rank-one family, the columns of a {self.format} file are used as they "
                    "are; remove this key"
                )
        return self

    @property
    def sparse(self) -> bool:
        """Whether the columns stay sparse."""
        return self.column_family is not None and FORMATS[self.format].read_sparse is not None

    def source_files(self) -> list[str]:
        """Return the file."""
        return [self.path]


@READERS.register("file")
def _read(dataset: FileDataset, folder: Path, seed: int) -> RawTable:
    from kernel_pipeline.data.frames import from_frame
    from kernel_pipeline.data.sparse_columns import from_sparse_columns

    path = existing(folder / dataset.path, "file", dataset.name)
    read_sparse = FORMATS[dataset.format].read_sparse
    if dataset.sparse and read_sparse is not None:
        with explain_errors(path, dataset.format, dataset.name):
            columns = read_sparse(path)
        return from_sparse_columns(columns, path, dataset.name, dataset.missing, dataset.positive)
    return from_frame(
        read_frame(path, dataset),
        dataset.name,
        target=dataset.target,
        positive=dataset.positive,
        drop=dataset.drop,
        encode=dataset.encode,
        missing=dataset.missing,
    )


def read_frame(path: Path, dataset: FileDataset) -> pd.DataFrame:
    """Read a file as a data frame, before the target is chosen and text is encoded."""
    header = isinstance(dataset.target, str) if dataset.header is None else dataset.header
    options = ReadOptions(dataset.name, header, dataset.drop)
    with explain_errors(path, dataset.format, dataset.name):
        return FORMATS[dataset.format].read(path, options)
