"""Scale and center blocks of label columns, compute the norm of the kernel that they form, and name classes.

A single output, or two classes, has one column; C > 2 classes have C columns of zeros and ones; several outputs have
one column each.
"""

from collections.abc import Iterable

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

# Labels of size 2 ** (-200..200), about 1e-60 to 1e60, are not scaled, since their fourth powers are normal floats.
MAX_EXPONENT = 200


def label_units(labels: Floats) -> Floats:
    """Return the number by which each column of labels is divided; 1 for labels of moderate size.

    Parameters
    ----------
    labels
        (m, number of columns)

    Returns
    -------
    (number of columns,)
        Powers of two, by which division is exact.

    >>> label_units(np.array([[1.0, 3e-160], [250.0, 0.0]])).tolist()
    [1.0, 5.6902623986817984e-160]
    """
    _, exponents = np.frexp(np.abs(labels).max(axis=0))
    return np.asarray(np.ldexp(1.0, np.where(np.abs(exponents) > MAX_EXPONENT, exponents, 0)))


def label_norm(labels: Floats) -> float:
    """Return the Frobenius norm of `Y Y'`, which is that of `Y'Y`, without forming the larger of the two.

    Parameters
    ----------
    labels
        (n, number of columns)

    >>> label_norm(np.array([[1.0], [2.0]]))
    5.0
    """
    if labels.shape[1] == 1:
        column = labels[:, 0]
        return float(column @ column)
    return float(np.linalg.norm(labels.T @ labels))


def center_labels(labels: Floats) -> Floats:
    """Subtract the mean of each column; a constant column becomes exactly 0.

    >>> center_labels(np.array([[1.0, 0.1], [3.0, 0.1]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    return np.where(np.ptp(labels, axis=0) == 0.0, 0.0, labels - labels.mean(axis=0))


def standardize_labels(labels: Floats) -> Floats:
    """Return labels of one column, (n,), scaled to mean 0 and variance 1."""
    return np.asarray((labels - labels.mean()) / labels.std())


def class_names(classes: Iterable[Iterable[str]]) -> list[str]:
    """Return the names of classes, given the labels of each; labels that form one class are separated by commas.

    >>> class_names([("no",), ("maybe", "yes")])
    ['no', 'maybe,yes']
    """
    return [",".join(labels) for labels in classes]
