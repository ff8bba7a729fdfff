"""Encode labels as numbers: one column for one output or two classes, otherwise one per output or class."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kernel_pipeline.data.number_text import (
    format_label,
    has_decimal_comma,
    has_thousands_separators,
    is_mostly_numbers,
)
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import label_units
from kernel_pipeline.text import printable

MAX_LISTED_LABELS = 10
MIN_PER_CLASS = 3
"""Smallest number of samples of a class: a trial trains without two folds, so a class must occur in three folds."""
MAX_CLASSES = 1000
"""Maximum number of classes; a target with more values almost certainly has no classes."""


@dataclass(frozen=True)
class EncodedTarget:
    """The labels of one problem as numbers."""

    values: Floats
    """Encoded labels, (m,), or (m, number of columns) for several outputs and for more than two classes."""
    classes: tuple[tuple[str, ...], ...] = ()
    """The labels of each class, in the order of the classes; empty for a regression on numbers."""
    outputs: tuple[str, ...] = ()
    """Names of the columns of several outputs."""


def is_numbers(values: pd.Series | pd.DataFrame) -> bool:
    """Return whether all labels are numbers, or text that can be read as numbers."""
    if isinstance(values, pd.DataFrame):
        return all(is_numbers(values[column]) for column in values)
    return bool(pd.to_numeric(values.astype(object), errors="coerce").notna().all())


def encode_target(
    labels: pd.Series | pd.DataFrame, problem: str, positive: Sequence[str] | None, name: str
) -> EncodedTarget:
    """Encode the labels of a problem.

    Numbers of a regression are unchanged. Two classes become -1 and +1; if there are more, each class becomes a column
    of zeros and ones. Classes are in the order of their labels: by value if all are numbers, otherwise alphabetically.

    Parameters
    ----------
    labels
        Numbers or text; a DataFrame for several outputs.
    problem
        "regression" or "classification".
    positive
        Labels that become +1, while all others become -1. Without it, +1 is the larger of two labels.
    name
        Name of the dataset, for error messages.
    """
    if isinstance(labels, pd.DataFrame):
        return _encode_outputs(labels, problem, positive, name)
    numbers = pd.to_numeric(labels.astype(object), errors="coerce")
    numeric = bool(numbers.notna().all())
    if problem == "regression" and numeric and positive is None:
        return EncodedTarget(_varying(numbers, "the target", name))
    written = (numbers if numeric else labels).map(format_label)
    values = numbers.drop_duplicates().sort_values().tolist() if numeric else sorted(written.unique().tolist())
    classes = _classes([format_label(value) for value in values], positive, name)
    if problem == "regression" and len(classes) > 2:
        raise DataError(
            f"dataset {name!r}: a regression target must consist of numbers or of labels of two classes; "
            f"{_first_text(labels, numbers)}"
        )
    number = written.map({label: index for index, members in enumerate(classes) for label in members}).to_numpy()
    if len(classes) == 2:
        return EncodedTarget(np.where(number == 1, 1.0, -1.0), classes)
    return EncodedTarget(np.equal.outer(number, np.arange(len(classes))).astype(np.float64), classes)


def _encode_outputs(labels: pd.DataFrame, problem: str, positive: Sequence[str] | None, name: str) -> EncodedTarget:
    """Encode the columns of several outputs."""
    outputs = tuple(printable(str(column)) for column in labels.columns)
    if problem != "regression" or positive is not None:
        found = "task = 'classification'" if problem != "regression" else f"positive = {list(positive or ())}"
        raise DataError(
            f"dataset {name!r}: {found}, but there are {len(outputs)} target columns ({', '.join(outputs)}), which "
            "only a regression of numbers can have. Name one target column, or set task = 'regression' without positive"
        )
    columns = []
    for output in labels:
        numbers = pd.to_numeric(labels[output].astype(object), errors="coerce")
        if numbers.isna().any():
            raise DataError(
                f"dataset {name!r}: all target columns must consist of numbers, since there are several; "
                f"{_first_text(labels[output], numbers)}"
            )
        columns.append(_varying(numbers, f"target column {output!r}", name))
    values = np.column_stack(columns)
    if (unusual := np.flatnonzero(label_units(values) != 1.0)).size:
        raise DataError(
            f"dataset {name!r}: target column {outputs[unusual[0]]!r} has values of size "
            f"{np.abs(values[:, unusual[0]]).max():.1e}; the error is computed over all outputs together, so "
            "scale each of them to magnitudes between 1e-60 and 1e60"
        )
    return EncodedTarget(values, outputs=outputs)


def _first_text(labels: pd.Series, numbers: pd.Series) -> str:
    """Describe the first label of the source that is not a number, and what to do about it."""
    text = labels[numbers.isna()].sort_index()  # the samples are in random order
    column = "it" if labels.name is None else f"column {labels.name!r}"
    found = f"{column} contains {format_label(text.iloc[0])!r} in data row {int(text.index[0]) + 1}"
    if has_decimal_comma(text).all():
        return f"{found}. If the comma is the decimal separator, set decimal = ','"
    if has_thousands_separators(text).all():
        return f"{found}. Remove the thousands separators from the file"
    if is_mostly_numbers(labels):
        words = list(dict.fromkeys(map(format_label, text)))[:MAX_LISTED_LABELS]
        return f"{found}. Correct the file; if text stands for a missing value in a table, set missing_values = {words}"
    return f"{found}. Set task = 'classification', or name another target column: target = ..."


def _varying(numbers: pd.Series, what: str, name: str) -> Floats:
    """Return the numbers of a regression target, which must not be constant."""
    target = numbers.to_numpy(np.float64)
    if len(target) and np.ptp(target) == 0:
        raise DataError(f"dataset {name!r}: {what} is constant ({target[0]:g}); there is nothing to learn")
    return target


def _classes(labels: Sequence[str], positive: Sequence[str] | None, name: str) -> tuple[tuple[str, ...], ...]:
    """Return the labels of each class; with `positive`, the second class has these labels and the first the others."""
    classes: tuple[tuple[str, ...], ...] = tuple((label,) for label in labels)
    if positive is not None:
        if unknown := [label for label in positive if label not in labels]:
            raise DataError(
                f"dataset {name!r}: positive = {list(positive)} contains {unknown[0]!r}, which is not one of the "
                f"labels: {', '.join(labels[:MAX_LISTED_LABELS])}"
            )
        others, chosen = (tuple(label for label in labels if (label in positive) == wanted) for wanted in (False, True))
        classes = (others, chosen)
    if len(labels) < 2:
        raise DataError(
            f"dataset {name!r}: all samples belong to one class, {labels[0]!r}; there is nothing to learn. Add samples "
            "of another class, or, for a table, name another target column: target = ..."
        )
    if positive is not None and not all(classes):
        raise DataError(
            f"dataset {name!r}: positive = {list(positive)} contains all labels, so that all samples belong to one "
            "class, +1; there is nothing to learn. Remove the labels of the other class from positive"
        )
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"dataset {name!r}: the target has {len(classes):,} different labels; at most {MAX_CLASSES:,} classes are "
            "allowed. Set task = 'regression', or name the target column: target = ..."
        )
    return classes
