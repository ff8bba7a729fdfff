"""Write notes about the columns of a table: an index or dates among the features, similar texts, and so on."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd

from kernel_pipeline.config.datasets import TableDataset
from kernel_pipeline.config.starter_config import (
    INDEX_NAMES,
    MIN_CATEGORIES,
    MIN_CATEGORIES_PER_ROW,
    MIN_DISTINCT_FRACTION,
    MIN_INDEX_ROWS,
    MIN_NUMBERS,
)
from kernel_pipeline.data.encoding import EncodedFeatures
from kernel_pipeline.tasks.arrays import Booleans
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.text import DATE

UNNAMED = "unnamed: "
"""Beginning of the names that pandas gives to columns without one, in lower case."""
MAX_NAMED_COLUMNS = 5
"""Maximum number of columns that a note lists."""


def index_notes(features: pd.DataFrame, encoded: EncodedFeatures, used: Booleans, dataset: TableDataset) -> list[str]:
    """Return a note about each used column that looks like an index or has dates or many categories.

    All notes propose the same list `drop`, so that a user can copy that of any note. There is none if `index` is false.

    Parameters
    ----------
    features
        The feature columns of the table.
    encoded
        The features as numbers.
    used
        Which of the columns of numbers the kernels use.
    dataset
        The dataset, whose keys `index` and `drop` leave out columns.
    """
    if dataset.index is False:
        return []
    sizes = Counter(origin for origin, is_used in zip(encoded.origins, used, strict=True) if is_used)
    one_hot = set(encoded.one_hot)
    found: dict[Hashable, str] = {}
    index: Hashable = None
    for column in features:
        if column not in sizes:
            continue
        becomes = f"becomes {sizes[column]:,} of {sizes.total():,} features"
        if column in one_hot and _is_date(features[column]):
            found[column] = f"contains dates and {becomes}"
        elif reason := index_reason(features[column], dataset.encode == "onehot"):
            found[column] = f"looks like an index ({reason}), but is used as a feature"
            if dataset.index is None and index is None:  # `index` can leave out one column only
                index = column
        elif column in one_hot and sizes[column] >= max(MIN_CATEGORIES, MIN_CATEGORIES_PER_ROW * len(features)):
            distinct = features[column].nunique()
            found[column] = f"has {distinct:,} different values in {len(features):,} rows and {becomes}"
    others = [column for column in found if column != index]
    which = "it" if len(others) == 1 else "all such columns"
    drop = f"set drop = {[*dataset.drop, *others]} to leave {which} out"
    fixes = {index: f"set index = {index!r} to leave it out, or index = false to keep it without this note"}
    return [f"column {column!r} {text}; {fixes.get(column, drop)}" for column, text in found.items()]


def repeated_index_note(index: pd.Series, dataset: TableDataset) -> tuple[str, ...]:
    """Return a note if several rows have the same index, unless the config determines their folds.

    >>> from kernel_pipeline.data.sources.file import FileDataset
    >>> values = {"name": "a", "source": "file", "path": "a.csv", "format": "csv", "task": "regression"}
    >>> dataset = FileDataset.model_validate(values | {"kernels": [{"family": "linear"}]})
    >>> repeated_index_note(pd.Series([7, 8, 7], name="patient"), dataset)  # doctest: +ELLIPSIS
    ("column 'patient' has the value 7 in 2 rows, ...set groups = 'patient' instead of index to keep them together",)
    """
    counts = index.value_counts()
    if counts.empty or counts.iloc[0] < 2 or {dataset.groups, dataset.folds, dataset.test} != {None}:
        return ()
    value = counts.index[0]
    written = repr(value) if isinstance(value, str) else str(value)
    return (
        f"column {index.name!r} has the value {written} in {int(counts.iloc[0]):,} rows, which may be divided "
        f"between the training and the test set; set groups = {index.name!r} instead of index to keep them together",
    )


def similar_text_notes(encoded: EncodedFeatures, used: Booleans) -> list[str]:
    """Return a note about each used one-hot column with texts that differ only in spaces or capital letters.

    Parameters
    ----------
    encoded
        The features as numbers.
    used
        Which of the columns of numbers the kernels use.
    """
    used_origins = {origin for origin, is_used in zip(encoded.origins, used, strict=True) if is_used}
    notes = []
    for encoding in encoded.encodings:
        if encoding.kind != "onehot" or encoding.column not in used_origins:
            continue
        seen: dict[str, str] = {}
        for text in map(str, encoding.texts):
            if (other := seen.setdefault(" ".join(text.split()).casefold(), text)) != text:
                notes.append(
                    f"column {encoding.column!r} contains {other!r} and {text!r}, which are different categories; if "
                    "they are the same, correct the file"
                )
                break
    return notes


def unused_note(columns: Sequence[Hashable]) -> tuple[str, ...]:
    """Return a note about columns that are in no view.

    >>> unused_note(["day", "place"])
    ("columns 'day', 'place' are in no view, so no kernel uses them",)
    """
    if not columns:
        return ()
    named = list_first(list(map(repr, columns)), MAX_NAMED_COLUMNS)
    if len(columns) == 1:
        return (f"column {named} is in no view, so no kernel uses it",)
    return (f"columns {named} are in no view, so no kernel uses them",)


def target_note(frame: pd.DataFrame, dataset: TableDataset) -> tuple[str, ...]:
    """Return a note that names the target column if the config does not set it."""
    if "target" in dataset.model_fields_set or frame.columns.empty:
        return ()
    last = frame.columns.tolist()[-1]
    which = f"number {last}" if isinstance(last, int) else repr(last)
    return (f"the target is the last column, {which}, since the config does not set target",)


def index_reason(values: pd.Series, one_hot: bool) -> str:
    """Return why a column looks like an index; empty if it does not."""
    name = str(values.name).strip().casefold()
    if _is_consecutive(values):
        return "its sorted values increase in steps of one"
    if name in INDEX_NAMES or name.startswith(UNNAMED):
        return "judging by its name"
    if one_hot and len(values) >= MIN_INDEX_ROWS and not pd.api.types.is_numeric_dtype(values):
        distinct = values.nunique()
        if distinct >= MIN_DISTINCT_FRACTION * len(values):
            return f"it has {distinct:,} different values in {len(values):,} rows"
    return ""


def _is_date(values: pd.Series) -> bool:
    """Return whether most cells of a column of text are dates."""
    present = values.dropna().astype(object).map(str).str.strip()
    return len(present) > 0 and float(present.str.fullmatch(DATE).mean()) >= MIN_NUMBERS


def _is_consecutive(values: pd.Series) -> bool:
    """Return whether the values of a column, once sorted, increase in steps of one."""
    if len(values) < MIN_INDEX_ROWS or not pd.api.types.is_numeric_dtype(values) or values.dtype == bool:
        return False
    numbers = values.to_numpy(np.float64)
    low = numbers.min()
    if not np.isfinite(low) or numbers.max() - low != len(numbers) - 1:
        return False
    return bool((np.sort(numbers) == low + np.arange(len(numbers))).all())
