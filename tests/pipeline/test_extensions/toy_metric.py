"""A metric in one file: the mean absolute error of a regression."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.metrics import Metric


def mean_absolute_error(predictions: Floats, labels: Floats) -> Floats:
    """Return the mean absolute error for each column of predictions."""
    return np.asarray(np.mean(np.abs(predictions - labels[:, None]), axis=0))


METRIC = Metric("mae", ("regression",), mean_absolute_error, "mean absolute error", in_label_units=True)
