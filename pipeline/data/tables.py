"""Build a `RawTable` from a data frame, with the columns that the keys of the dataset select."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from kernel_pipeline.config.datasets import TableDataset
from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.config.views import used_columns
from kernel_pipeline.data.column_checks import check_cells, check_distinct, check_encoded_names
from kernel_pipeline.data.column_notes import index_notes, repeated_index_note, similar_text_notes, unused_note
from kernel_pipeline.data.encoding import EncodedFeatures, encode_features
from kernel_pipeline.data.frames import build_table, column_numbers, find_column, find_targets, split_columns
from kernel_pipeline.data.missing_values import mark_missing
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.text_errors import ListedInConfig, text_error
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans
from kernel_pipeline.text import counted

FOLD_KEYS = ("groups", "folds", "test")
"""Keys that name a column which determines the folds."""
TEST_MARKS = {"true": True, "1": True, "yes": True, "test": True}
TEST_MARKS |= {"false": False, "0": False, "no": False, "train": False}
"""Values of a column that marks the samples of a test set, in lower case."""
MAX_LISTED = 10
"""Maximum number of values or columns in an error message."""


def table_from_frame(
    frame: pd.DataFrame, dataset: TableDataset, notes: tuple[str, ...] = (), test_from: int | None = None
) -> RawTable:
    """Build a table from a data frame, with the features, target and folds that the keys of its dataset select.

    Parameters
    ----------
    frame
        Columns of numbers or text.
    dataset
        The dataset, which names its target and the columns that are not features.
    notes
        Remarks of the reader.
    test_from
        First row of a fixed test set that was read from a separate file.

    Raises
    ------
    DataError
        If a key names a column that does not exist, if several columns have the same name, or if values cannot be used.
    """
    name = dataset.name
    check_distinct(frame.columns, name)
    if dataset.missing_values:
        frame = mark_missing(frame, dataset.missing_values)
    roles = find_roles(frame, dataset)
    reserved = list(roles.values())
    features, labels = split_columns(frame, name, dataset.target, dataset.drop, reserved, dataset.uses_features)
    check_cells(features, labels, dataset)
    encoded = encode_features(features, dataset.encode, name, _find_categorical(frame, features, dataset))
    used = _find_used(frame, encoded, dataset)
    used_origins = {origin for origin, is_used in zip(encoded.origins, used, strict=True) if is_used}
    if refused := {column: found for column, found in encoded.refused.items() if column in used_origins}:
        listed = ListedInConfig(dataset.drop, dataset.categorical or (), dataset.missing_values or ())
        raise text_error(refused, name, listed)
    check_encoded_names(encoded, used, dataset)
    table = build_table(
        frame,
        encoded,
        labels,
        name,
        positive=dataset.positive,
        missing=dataset.missing,
        used=used,
        encode=dataset.encode,
        missing_values=dataset.missing_values or (),
    )
    index = repeated_index_note(frame[roles["index"]], dataset) if "index" in roles else ()
    columns = [*index, *index_notes(features, encoded, used, dataset), *similar_text_notes(encoded, used)]
    unused = unused_note([column for column in features if column not in used_origins])
    return replace(with_folds(table, frame, dataset, test_from), notes=(*notes, *columns, *unused))


def _find_categorical(frame: pd.DataFrame, features: pd.DataFrame, dataset: TableDataset) -> set[Hashable]:
    """Return the labels of the columns that contain categories, which must be features."""
    found = [find_column(frame, column, "categorical", dataset.name) for column in dataset.categorical or ()]
    for column in found:
        if column not in features and dataset.uses_features:
            raise DataError(
                f"dataset {dataset.name!r}: categorical = {dataset.categorical} contains {column!r}, which is not a "
                "feature, because another key names it; remove it from one of them"
            )
    return set(found)


def _find_used(frame: pd.DataFrame, encoded: EncodedFeatures, dataset: TableDataset) -> Booleans:
    """Return which of the encoded features the kernels of a dataset use."""
    used = np.zeros(len(encoded.origins), dtype=bool)
    names = list(map(str, encoded.frame.columns))
    columns = FeatureColumns.of(names, encoded.origins, column_numbers(frame, encoded.origins))
    used[list(used_columns(dataset, columns))] = True
    return used


def append_rows(frame: pd.DataFrame, more: pd.DataFrame, dataset: TableDataset, path: Path) -> pd.DataFrame:
    """Append the rows of another file, which must have the columns that are used, by name or by number.

    Raises
    ------
    DataError
        If the other file lacks a column, or has another number of columns without names.
    """
    for part in (frame, more):
        check_distinct(part.columns, dataset.name)
    unused = {find_column(frame, column, "drop", dataset.name) for column in dataset.drop}
    unused |= {column for key, column in find_roles(frame, dataset).items() if key in ("index", "folds")}
    absent = [column for column in frame.columns if column not in more.columns and column not in unused]
    unnamed = all(isinstance(column, int) for column in frame.columns) and more.shape[1] != frame.shape[1]
    if absent or unnamed:
        what = f"no column {', '.join(map(repr, absent[:MAX_LISTED]))}" if absent else counted(more.shape[1], "column")
        found = ", ".join(map(repr, more.columns[:MAX_LISTED])) + (", ..." if more.shape[1] > MAX_LISTED else "")
        raise DataError(
            f"dataset {dataset.name!r}: test_path: {path} has {what}, unlike the file given by the key path, which has "
            f"{counted(frame.shape[1], 'column')}; both files must have the same columns, the target included. Columns "
            f"of {path.name}: {found}"
        )
    return pd.concat([frame, more.reindex(columns=frame.columns)], ignore_index=True)


def find_roles(frame: pd.DataFrame, dataset: TableDataset) -> dict[str, Hashable]:
    """Return the labels of the index and of the columns that determine the folds, by the key that names them."""
    name = dataset.name
    taken = dict.fromkeys(find_targets(frame, name, dataset.target), "target")
    roles: dict[str, Hashable] = {}
    for key in ("index", *FOLD_KEYS):
        wanted = getattr(dataset, key)
        if wanted is None or wanted is False:
            continue
        column = find_column(frame, 0 if wanted is True else wanted, key, name)
        if column in taken:
            raise DataError(
                f"dataset {name!r}: {key} = {wanted!r} is also the {taken[column]} column {column!r}; choose another"
            )
        taken[column], roles[key] = key, column
    return roles


def with_folds(table: RawTable, frame: pd.DataFrame, dataset: TableDataset, test_from: int | None = None) -> RawTable:
    """Add the columns that determine folds; `missing` states whether empty cells raise an error or drop the row.

    Parameters
    ----------
    table
        Rows of the data frame, without these columns.
    frame, dataset, test_from
        As in `table_from_frame`.
    """
    roles = find_roles(frame, dataset)
    chosen = {key: frame[roles[key]].iloc[table.rows] for key in FOLD_KEYS if key in roles}
    test = None if test_from is None else table.rows >= test_from
    if "test" in chosen:
        test = _marked(chosen["test"], dataset.name)
    is_missing = {key: values.isna().to_numpy() for key, values in chosen.items()}
    if "folds" in is_missing and test is not None:
        is_missing["folds"] = is_missing["folds"] & ~test  # the test set is a fold of its own
    usable = np.ones(len(table.rows), dtype=bool)
    for empty in is_missing.values():
        usable &= ~empty
    if dataset.missing != "drop" and not usable.all():
        raise _empty_fold_cell(
            table, {roles[key]: (key, empty) for key, empty in is_missing.items()}, len(frame), dataset
        )
    kept = {key: values[usable] for key, values in chosen.items()}
    return replace(
        table,
        features=table.features[usable],
        target=table.target[usable],
        rows=table.rows[usable],
        left_out=table.left_out + int((~usable).sum()),
        test=None if test is None else test[usable],
        groups=kept.get("groups"),
        given_folds=kept.get("folds"),
    )


def _empty_fold_cell(
    table: RawTable, is_missing: Mapping[Hashable, tuple[str, Booleans]], rows: int, dataset: TableDataset
) -> DataError:
    """Return the error about an empty cell in a column that determines the folds.

    Parameters
    ----------
    is_missing
        The key that names each of these columns, and which rows of the table are empty in it.
    rows
        Number of rows of the file.
    """
    column, (key, empty) = next(item for item in is_missing.items() if item[1][1].any())
    dropped = np.any([found for _, found in is_missing.values()], axis=0)
    if isinstance(table.features, np.ndarray):
        dropped |= np.isnan(table.features).any(axis=1)  # the gaps that are imputed
    count, total = int(empty.sum()), table.left_out + int(dropped.sum())
    which = "the row a value in this column, or remove the row"
    if count > 1:
        which = "these rows a value in this column, or remove the rows"
    return DataError(
        f"dataset {dataset.name!r}: column {column!r}, given by the key {key}, is empty in data row "
        f"{int(table.rows[np.argmax(empty)]) + 1}; this is the case in {count:,} of {rows:,} rows. Fix the file: give "
        f"{which}. With missing = 'drop', {counted(total, 'row is', 'rows are')} left out, which are all rows with an "
        "empty cell in a column that is used"
    )


def _marked(values: pd.Series, name: str) -> Booleans:
    """Return which rows a column marks as the test set; rows without a mark do not belong to it."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    texts = values.map(str).mask(numbers.eq(1), "1").mask(numbers.eq(0), "0").str.strip().str.casefold()
    unknown = values[values.notna() & ~texts.isin(TEST_MARKS)]
    if len(unknown):
        listed = ", ".join(repr(str(value)) for value in unknown.unique()[:MAX_LISTED])
        raise DataError(
            f"dataset {name!r}: test = {values.name!r} has the values {listed}; a row of the test set is marked by "
            "true, 1, yes or test, any other row by false, 0, no or train"
        )
    return np.array([TEST_MARKS.get(text, False) for text in texts])
