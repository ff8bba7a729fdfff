"""Units of labels: a power of two, so that squares and fourth powers of labels of any size stay within floats."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

# Labels of size 2 ** (-200..200), about 1e-60 to 1e60, are used as they are: their fourth powers are ordinary floats.
ORDINARY = 200


def label_units(labels: Floats) -> Floats:
    """The unit of each column of labels: 1 for those of ordinary size.

    Parameters
    ----------
    labels
        (m, number of columns)

    Returns
    -------
    (number of columns,)
        Powers of two; division by them is exact.

    >>> label_units(np.array([[1.0, 3e-160], [250.0, 0.0]])).tolist()
    [1.0, 5.6902623986817984e-160]
    """
    _, exponents = np.frexp(np.abs(labels).max(axis=0))
    return np.asarray(np.ldexp(1.0, np.where(np.abs(exponents) > ORDINARY, exponents, 0)))
