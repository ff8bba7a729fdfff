"""Precomputed kernels among other families."""

import numpy as np
import pytest

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, kernel_shifts, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.precomputed import StoredFamily, exact_shift

STORED = np.random.default_rng(0).uniform(0.6, 1.0, (3, 7, 7))
FEATURES = np.arange(14.0).reshape(7, 2) / 9.0


def blocks(kernels: slice, rows: slice, columns: slice) -> Floats:
    return STORED[kernels, rows, columns]


def test_precomputed_kernels_can_be_combined_with_others() -> None:
    families = [
        StoredFamily("graph", first=2, constants=(0.0,)),
        GaussianFamily(log2_gamma=(0, 0)),
        StoredFamily("string", first=0, constants=(1.0, 0.0)),
    ]
    out = np.empty((4, 3, 2))
    prepare_families(families, Samples(FEATURES, blocks=blocks))(slice(0, 3), slice(5, 7), out)
    shifts = np.array(kernel_shifts(families))
    assert shifts.tolist() == [0.0, 1.0, 1.0, 0.0]
    found = out + shifts[:, None, None]
    assert (found[[0, 2, 3]] == STORED[[2, 0, 1], 0:3, 5:7]).all()
    distances = ((FEATURES[0:3, None] - FEATURES[None, 5:7]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(found[1], np.exp(-distances), atol=1e-15)


def test_samples_without_precomputed_kernels_are_refused() -> None:
    with pytest.raises(ValueError, match="no precomputed kernels"):
        StoredFamily("string", 0, (0.0,)).prepare(Samples(FEATURES))


def test_subtracting_and_adding_the_shift_is_exact() -> None:
    rng = np.random.default_rng(1)
    for low in (0.1, 0.49, 0.5, 0.51, 0.99, 1 - 1e-9):
        values = rng.uniform(low, 1.0, 10_000) * 3.7
        shift = exact_shift(values.min(), values.max())
        assert (shift > 0) == (values.max() <= 2 * values.min())
        assert ((values - shift) + shift == values).all()
