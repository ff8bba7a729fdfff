"""Write notes about the classes of a target: their sizes, and labels that are spelled differently."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kernel_pipeline.data.number_text import format_label
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.listing import list_first

FEW_SAMPLES = 10
"""A note is written about a class with fewer samples."""
LARGE_MAJORITY = 0.9
"""A note is written about a class with a larger fraction of the samples."""
MAX_NAMED_LABELS = 3
MAX_LISTED_CLASSES = 6


def class_notes(labels: pd.Series | pd.DataFrame, target: Floats, from_table: bool = False) -> tuple[str, ...]:
    """Return notes about the classes, one sentence each.

    Parameters
    ----------
    labels
        Labels as they are in the source.
    target
        The class of each sample: (m,) numbers, or (m, C) with one column of zeros and ones per class.
    from_table
        Whether the labels are a column of a table. Then notes also list more than two classes, and name labels of
        different classes that differ only in spaces or capital letters.

    Examples
    --------
    >>> class_notes(pd.Series(["ham"] * 95 + ["spam"] * 5), np.repeat([-1.0, 1.0], [95, 5]))[0]
    "class 'spam' has 5 samples, fewer than 10; errors and alignments will vary considerably between trials"
    """
    classes = target if target.ndim == 1 else target.argmax(axis=1)
    values, counts = np.unique(classes, return_counts=True)
    names = [_name(labels[classes == value]) for value in values]
    notes = [
        f"class {name} has {count} samples, fewer than {FEW_SAMPLES}; errors and alignments will vary considerably "
        "between trials"
        for name, count in zip(names, counts, strict=True)
        if count < FEW_SAMPLES
    ]
    if from_table:
        column = (
            f"target {labels.name!r}" if isinstance(labels, pd.Series) and labels.name is not None else "the target"
        )
        notes = [*_sizes_note(column, names, counts), *_similar_labels_note(column, labels, classes), *notes]
    fraction = counts.max() / len(target)
    if fraction > LARGE_MAJORITY:
        notes.append(
            f"{100 * fraction:.1f} % of the samples belong to class {names[int(counts.argmax())]}; a constant "
            f"prediction of this class has an error of about {1 - fraction:.3f}; compare errors with this value"
        )
    return tuple(notes)


def _sizes_note(column: str, names: Sequence[str], counts: Integers) -> list[str]:
    """Return a note that lists the classes and their sizes if there are more than two, the largest first."""
    if len(names) <= 2:
        return []
    sizes = [f"{names[index]} ({counts[index]:,})" for index in np.argsort(-counts, kind="stable")]
    return [f"{column} has {len(names):,} classes: {list_first(sizes, MAX_LISTED_CLASSES)}"]


def _similar_labels_note(column: str, labels: pd.Series | pd.DataFrame, classes: Floats | Integers) -> list[str]:
    """Return a note about the first labels of different classes that differ only in spaces or capital letters."""
    seen: dict[str, tuple[str, float]] = {}
    found = pd.DataFrame({"label": labels.map(format_label).to_numpy(), "number": classes}).drop_duplicates()
    for label, number in sorted(found.itertuples(index=False, name=None), reverse=True):  # small letters first
        other, of_other = seen.setdefault(" ".join(label.split()).casefold(), (label, number))
        if of_other != number:
            return [
                f"{column} contains {other!r} and {label!r}, which are different classes; if they are the same, "
                "correct the file"
            ]
    return []


def _name(labels: pd.Series) -> str:
    """Return the label of a class, or its labels if there are several."""
    found = [repr(label) for label in sorted(set(labels.map(format_label)))]
    more = f" and {len(found) - MAX_NAMED_LABELS} more" if len(found) > MAX_NAMED_LABELS else ""
    return ", ".join(found[:MAX_NAMED_LABELS]) + more
