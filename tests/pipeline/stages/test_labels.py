"""Centered labels: constant columns become exactly 0, and others are the differences from their means, to the bit."""

from collections.abc import Callable
from unittest.mock import MagicMock

import numpy as np
import pytest

from kernel_pipeline.stages.labels import read_centered_labels
from kernel_pipeline.stages.panel_fits import CenteredPanels
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split

CONSTANT = 0.1  # the mean of three is 0.10000000000000002


def labels_with_a_constant() -> Floats:
    return np.stack([np.random.default_rng(0).normal(size=3), np.full(3, CONSTANT)], axis=1)


def of_a_sweep(labels: Floats) -> Floats:
    return read_centered_labels(MagicMock(read=MagicMock(return_value=labels)), "data")[0]


def of_panels(labels: Floats) -> Floats:
    split = Split(labels, np.arange(len(labels)), np.arange(0), np.arange(0))
    return CenteredPanels(MagicMock(), np.empty(0), MagicMock(), split).centered_target


@pytest.mark.parametrize("center", [of_a_sweep, of_panels])
def test_a_constant_column_becomes_exactly_zero(center: Callable[[Floats], Floats]) -> None:
    labels = labels_with_a_constant()
    found = center(labels)
    assert found[:, 1].tolist() == [0.0] * 3
    assert found[:, :1].tobytes() == (labels - labels.mean(axis=0))[:, :1].tobytes()
    assert found.strides == labels.strides
