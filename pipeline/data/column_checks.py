"""Check that columns have different names, before and after encoding, and that their cells are numbers or text."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
import pandas as pd

from kernel_pipeline.config.datasets import TableDataset
from kernel_pipeline.data.encoding import EncodedFeatures
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans
from kernel_pipeline.tasks.listing import list_first

MAX_LISTED = 10
"""Maximum number of columns in an error message."""
MAX_CELL_LENGTH = 60
"""Maximum length of a cell in an error message."""


def check_distinct(columns: Iterable[Hashable], name: str) -> None:
    """Raise a `DataError` if two columns of the dataset `name` have the same name."""
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise DataError(f"dataset {name!r}: several columns are named {repeated[0]!r}; rename all but one")


def check_cells(features: pd.DataFrame, labels: pd.Series | pd.DataFrame, dataset: TableDataset) -> None:
    """Raise a `DataError` if cells of the features or of the target are lists, arrays or mappings.

    The columns of Parquet files may have such cells.
    """
    if nested := _nested(features):
        listed = list_first(list(map(repr, nested)), MAX_LISTED)
        raise DataError(
            f"dataset {dataset.name!r}: {_describe_nested(features, nested[0])}; the cells of a feature must be "
            f"numbers or text. Nested columns: {listed}. Drop them (drop = {[*dataset.drop, *nested]}), or save the "
            "file with one column per entry"
        )
    targets = labels.to_frame() if isinstance(labels, pd.Series) else labels
    if nested := _nested(targets):
        raise DataError(
            f"dataset {dataset.name!r}: the target {_describe_nested(targets, nested[0])}; a label must be a number or "
            "text. Name another target column: target = ..."
        )


def _nested(frame: pd.DataFrame) -> list[Hashable]:
    """Return the columns with cells that are lists, arrays or mappings."""
    columns = frame.columns[list(map(pd.api.types.is_object_dtype, frame.dtypes))].tolist()
    return [column for column in columns if frame[column].map(pd.api.types.is_list_like).any()]


def _describe_nested(frame: pd.DataFrame, column: Hashable) -> str:
    """Describe the first cell of a column that is a list, an array or a mapping."""
    row = int(np.argmax(frame[column].map(pd.api.types.is_list_like)))
    cell = frame[column].iloc[row]
    written = str(cell.tolist() if isinstance(cell, np.ndarray) else cell)
    shown = written if len(written) <= MAX_CELL_LENGTH else f"{written[: MAX_CELL_LENGTH - 3]}..."
    kind = "mapping" if isinstance(cell, dict) else "list"
    return f"column {column!r} contains a {kind} in data row {row + 1}: {shown}"


def check_encoded_names(encoded: EncodedFeatures, used: Booleans, dataset: TableDataset) -> None:
    """Raise a `DataError` if two encoded columns that are used have the same name.

    One-hot encoding the text `red` of a column `color` makes a column `color_red`, which the table may have already.
    """
    names = pd.Index(map(str, encoded.frame.columns[used]))
    if names.is_unique:
        return
    repeated = names[names.duplicated()][0]
    origins = [encoded.origins[index] for index in np.flatnonzero(used)[names == repeated]]
    raise DataError(f"dataset {dataset.name!r}: {_describe_repeated(repeated, list(dict.fromkeys(origins)), dataset)}")


def _describe_repeated(name: str, origins: Sequence[Hashable], dataset: TableDataset) -> str:
    """Describe a repeated name of encoded columns, given the columns of the table that become them."""
    if len(origins) == 1:
        return (
            f"column {origins[0]!r} contains different values that are written alike, which become features of the "
            f"same name {name!r}; correct the file, or drop the column (drop = {[*dataset.drop, *origins]})"
        )
    column = next((origin for origin in origins if str(origin) == name), origins[-1])
    listed = " and ".join(map(repr, origins))
    return (
        f"columns {listed} become features of the same name {name!r}; rename {column!r}, or drop it "
        f"(drop = {[*dataset.drop, column]})"
    )
