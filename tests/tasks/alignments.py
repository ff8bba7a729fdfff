"""Alignments of two kernel matrices, as the paper defines them."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.statistics.alignment import centered


def centered_alignment(kernel: Floats, other: Floats) -> float:
    """Compute `<K_c, K'_c> / (||K_c|| ||K'_c||)` (Definition 4); 0 if one of them is constant."""
    return uncentered_alignment(centered(kernel), centered(other))


def uncentered_alignment(kernel: Floats, other: Floats) -> float:
    """Compute `<K, K'> / (||K|| ||K'||)` (Cristianini et al. 2001); 0 if one of them is 0."""
    norms = float(np.linalg.norm(kernel) * np.linalg.norm(other))
    return float(np.vdot(kernel, other)) / norms if norms > 0 else 0.0


def unnormalised_alignment(kernel: Floats, other: Floats) -> float:
    """Compute `<K_c, K'_c> / m^2` (Definition 5)."""
    return float(np.vdot(centered(kernel), centered(other))) / kernel.size
