"""Choose which of many points are drawn, so that the size of an image does not grow with their number."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers

MAX_POINTS = 600
"""Maximum number of points that are drawn of one series."""
CELLS = (400, 200, 140, 100, 70, 50, 35, 24)
"""Numbers of cells per axis, from fine to coarse; the coarsest grid has fewer than `MAX_POINTS` cells."""


def thinned(x: Floats, y: Floats) -> Integers:
    """Return the indices of the points to draw: all, or if there are too many, only one of those close to each other.

    The axes are divided into cells, and the first point of each cell is drawn. The cells are as small as the maximum
    number of points allows. If there are too many points, those that are not finite are left out.

    Examples
    --------
    >>> thinned(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    array([0, 1])
    >>> x = np.repeat([0.0, 0.5, 1.0], 1000)
    >>> thinned(x, x)
    array([   0, 1000, 2000])
    """
    if len(x) <= MAX_POINTS:
        return np.arange(len(x))
    defined = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    first = defined
    for cells in CELLS:
        if len(first) <= MAX_POINTS:
            break
        places = _cell(x[defined], cells) * cells + _cell(y[defined], cells)
        first = np.sort(defined[np.unique(places, return_index=True)[1]])
    return first


def _cell(values: Floats, cells: int) -> Integers:
    """Return the number of the cell of each value, if the range of the values is divided into equal cells."""
    low, width = values.min(), np.ptp(values)
    shares = (values - low) / width if width > 0 else np.zeros(len(values))
    return np.minimum((shares * cells).astype(np.int64), cells - 1)
