"""Read the labels of a dataset, scaled to a moderate magnitude."""

from kernel_pipeline.store.arrays import DATA, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import center_labels, label_units


def label_input(dataset: str) -> Input:
    """Return the array that the functions of this module read, as an input of a task."""
    return whole(DATA, f"{dataset}/targets")


def read_labels(store: RunStore, dataset: str) -> tuple[Floats, Floats]:
    """Read labels divided by their units, (m, columns), and the units, (columns,); errors are multiplied by these.

    The columns of several outputs all have the unit 1, which is checked when data are prepared.
    """
    targets = store.read(DATA, f"{dataset}/targets")
    units = label_units(targets)
    return targets / units, units


def read_centered_labels(store: RunStore, dataset: str) -> tuple[Floats, Floats]:
    """Return labels divided by their units, minus their means, (m, columns), and the means, (columns,).

    The sums of tiles are computed with these labels, so statistics must use the same ones. Subtracting the mean does
    not change centered quantities, and preserves the precision of labels whose mean is large.
    """
    labels, _ = read_labels(store, dataset)
    return center_labels(labels), labels.mean(axis=0)
