"""Fits that no worker can hold: four workers of 1 GiB each, and kernels of 12,000 training samples (1.1 GiB)."""

import os
from pathlib import Path

import pytest

from tests.benchmarks.bench_spread import DATASETS, MEMORY, ROWS, measure

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(7200)]

# Largest certificate, and largest difference of an error from that of a fit in memory.
LIMITS = {"regression": (1e-6, 1e-4), "classification": (1e-3, 5e-3)}


@pytest.mark.parametrize("problem", DATASETS)
def test_fits_are_those_in_memory_also_after_kills(problem: str, tmp_path: Path) -> None:
    data = os.environ.get("PIPELINE_DATA_DIR")
    if not data:
        pytest.skip("needs the datasets: set PIPELINE_DATA_DIR to their folder")
    found = measure(tmp_path, problem, ROWS, MEMORY, Path(data))
    certificate, difference = LIMITS[problem]
    assert found.certificate <= certificate
    assert found.difference <= difference
    assert found.is_same
    assert found.peak <= 1 << 30
