"""Encode the targets of estimators as blocks of label columns, as in a sweep."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from kernel_pipeline.tasks.arrays import Floats

TASKS = ("auto", "classification", "regression")
MANY_CLASSES, FEW_SAMPLES = 20, 5
"""With more than `MANY_CLASSES` classes of fewer than `FEW_SAMPLES` samples on average, numbers are hardly classes."""


def class_labels(y: Any) -> tuple[Any, Floats]:
    """Return the classes, and the labels: -1 and +1, or one column of zeros and ones per class.

    >>> class_labels(np.array(["b", "a", "b"]))[1].tolist()
    [[1.0], [-1.0], [1.0]]
    """
    check_classification_targets(y)
    classes, numbers = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y: at least two classes are required; all samples belong to one class, {classes.tolist()[0]!r}"
        )
    if len(classes) == 2:
        return classes, np.where(numbers == 1, 1.0, -1.0)[:, None]
    return classes, np.equal.outer(numbers, np.arange(len(classes))).astype(np.float64)


def numeric_labels(y: Any) -> Floats:
    """Return the targets of a regression as columns, one per output."""
    labels = np.asarray(y, dtype=np.float64)
    return labels[:, None] if labels.ndim == 1 else labels


def labels_of_task(y: Any, task: str) -> Floats:
    """Return the label columns of a target; with task "auto", text and whole numbers in one column are classes.

    >>> labels_of_task(np.array([0.5, 1.5]), "auto").tolist()
    [[0.5], [1.5]]
    """
    if task not in TASKS:
        raise ValueError(f"task: must be one of {', '.join(map(repr, TASKS))}; got {task!r}")
    is_classes = type_of_target(y) in ("binary", "multiclass") if task == "auto" else task == "classification"
    if not is_classes:
        return numeric_labels(y)
    classes, labels = class_labels(y)
    if task == "auto" and len(classes) > MANY_CLASSES and len(labels) < FEW_SAMPLES * len(classes):
        warnings.warn(
            f"y: {len(classes):,} different values of {len(labels):,} samples are taken as classes. If they are "
            "numbers, pass task='regression'; task='classification' avoids this warning",
            UserWarning,
            stacklevel=3,
        )
    return labels
