"""Check that every class has enough samples."""

from collections.abc import Sequence

import numpy as np

from kernel_pipeline.cluster.strict_model import nearest_name
from kernel_pipeline.data.targets import MIN_PER_CLASS, EncodedTarget
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.text import NUMBER, counted

MAX_LISTED_CLASSES = 6
MAX_NAMED_LABELS = 3
"""Maximum number of labels of one class in an error message."""


def check_classes(target: EncodedTarget, rows: Integers, name: str, header_hint: str = "") -> None:
    """Check the number of samples of each class; a target of two different numbers has two classes.

    Parameters
    ----------
    target
        The encoded labels.
    rows
        Row number in the source of each label.
    name
        Name of the dataset, for error messages.
    header_hint
        What to do if the first row of the source contains the names of the columns.

    Raises
    ------
    DataError
        If a class has too few samples.
    """
    if target.outputs:
        return
    labels = target.values if target.values.ndim == 1 else target.values.argmax(axis=1)
    found, counts = np.unique(labels, return_counts=True)
    if not (target.classes or len(found) == 2) or counts.min() >= MIN_PER_CLASS:
        return
    few = int(counts.argmin())
    classes = target.classes or tuple((f"{value:g}",) for value in found)
    names = [list_first(list(map(repr, members)), MAX_NAMED_LABELS) for members in classes]
    where = [str(row + 1) for row in sorted(rows[labels == found[few]])]
    hint = f"{header_hint}. " if header_hint and where == ["1"] else ""
    sizes = [f"{names[index]} ({counts[index]:,})" for index in np.argsort(-counts, kind="stable")]
    common = [
        label for members, count in zip(classes, counts, strict=True) if count >= MIN_PER_CLASS for label in members
    ]
    found_samples = f"{'is' if counts[few] == 1 else 'are'} {counted(int(counts[few]), 'sample')}"
    raise DataError(
        f"dataset {name!r}: there {found_samples} of class {names[few]}; at least {MIN_PER_CLASS} of each "
        "class are required, so that every training set contains every class. The class is in data "
        f"row{'s' if len(where) > 1 else ''} {', '.join(where)}; the classes and their sizes are "
        f"{list_first(sizes, MAX_LISTED_CLASSES)}. {hint}{_fixes(classes, classes[few][0], common)}"
    )


def _fixes(classes: Sequence[Sequence[str]], label: str, common: Sequence[str]) -> str:
    """Return what to do about a class with few samples."""
    meant = similar_label(label, common)
    hint = (
        "If the label is a mistake, correct the file" if meant is None else f"Did you mean {meant!r}? Correct the file"
    )
    if len(classes) == 2:
        return f"{hint}; otherwise, add samples of this class"
    merge = "merge the classes into two: positive = [...]"
    if all(NUMBER.fullmatch(one) for members in classes for one in members):
        return f"{hint}; otherwise, {merge}, or set task = 'regression'"
    return f"{hint}; otherwise, remove these rows from the file, or {merge}"


def similar_label(label: str, others: Sequence[str]) -> str | None:
    """Return the label that was probably meant, or None if there is none.

    It differs from the given label only in case, spaces or a few letters; both have the same digits.

    >>> similar_label("Pass", ["fail", "pass"]), similar_label("no  show", ["noshow", "show"])
    ('pass', 'noshow')
    >>> similar_label("fial", ["fail", "pass"]), similar_label("grade 3", ["grade 1", "grade 2"])
    ('fail', None)
    """
    compact = "".join(label.split()).casefold()
    for other in others:
        if "".join(other.split()).casefold() == compact:
            return other
    return nearest_name(label, [other for other in others if _digits(other) == _digits(label)])


def _digits(label: str) -> str:
    return "".join(letter for letter in label if letter.isdigit())
