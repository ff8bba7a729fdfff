"""Write notes about classes with few samples or with nearly all samples."""

import numpy as np
import pandas as pd

from kernel_pipeline.data.number_text import format_label
from kernel_pipeline.tasks.arrays import Floats

FEW_SAMPLES = 10
"""A note is written about a class with fewer samples."""
LARGE_MAJORITY = 0.9
"""A note is written about a class with a larger fraction of the samples."""
MAX_NAMED_LABELS = 3


def class_notes(labels: pd.Series | pd.DataFrame, target: Floats) -> tuple[str, ...]:
    """Return notes about the sizes of the classes, one sentence each.

    Parameters
    ----------
    labels
        Labels as they are in the source.
    target
        The class of each sample: (m,) numbers, or (m, C) with one column of zeros and ones per class.

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
    fraction = counts.max() / len(target)
    if fraction > LARGE_MAJORITY:
        notes.append(
            f"{100 * fraction:.1f} % of the samples belong to class {names[int(counts.argmax())]}; a constant "
            f"prediction of this class has an error of about {1 - fraction:.3f}; compare errors with this value"
        )
    return tuple(notes)


def _name(labels: pd.Series) -> str:
    """Return the label of a class, or its labels if there are several."""
    found = [repr(label) for label in sorted(set(labels.map(format_label)))]
    more = f" and {len(found) - MAX_NAMED_LABELS} more" if len(found) > MAX_NAMED_LABELS else ""
    return ", ".join(found[:MAX_NAMED_LABELS]) + more
