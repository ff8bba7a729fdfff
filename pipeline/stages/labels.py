"""The labels of a dataset as tasks use them: in units in which they are of ordinary size."""

from kernel_pipeline.store.arrays import DATA, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import label_units


def label_input(dataset: str) -> Input:
    """Return what the functions of this module read, as an input of a task."""
    return whole(DATA, f"{dataset}/targets")


def read_labels(store: RunStore, dataset: str) -> tuple[Floats, Floats]:
    """Read labels in their units, (m, problems), and the units, (problems,), by which errors have to be multiplied."""
    targets = store.read(DATA, f"{dataset}/targets")
    units = label_units(targets)
    return targets / units, units


def read_centered_labels(store: RunStore, dataset: str) -> tuple[Floats, Floats]:
    """Return labels in their units without their means, (m, problems), and the means, (problems,).

    The sums of tiles are taken with these labels, so statistics must use the same ones. Subtracting the mean changes
    nothing that is centered, and keeps the digits of labels whose mean is large.
    """
    labels, _ = read_labels(store, dataset)
    means = labels.mean(axis=0)
    return labels - means, means
