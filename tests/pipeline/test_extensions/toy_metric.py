"""A metric in one file: the largest absolute error of a regression."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.metrics import Metric


def largest_absolute_error(predictions: Floats, labels: Floats) -> Floats:
    """Return the largest absolute error over all samples and outputs, for each fit."""
    return np.asarray(np.max(np.abs(predictions - labels[:, :, None]), axis=(0, 1)))


METRIC = Metric("largest", ("regression",), largest_absolute_error, "largest absolute error", in_label_units=True)
