"""Fits that exceed the memory of each worker: four workers of 1 GiB, kernels of 12,000 training samples (1.1 GiB)."""

import os
from pathlib import Path

import pytest

from tests.benchmarks.bench_spread import DATASETS, MEMORY, ROWS, measure

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(7200)]

# Largest allowed certificate, and largest allowed difference of an error from that of an in-memory fit.
LIMITS = {"regression": (1e-6, 1e-4), "classification": (1e-3, 5e-3)}


@pytest.mark.parametrize("problem", DATASETS)
def test_fits_equal_those_in_memory_even_after_kills(problem: str, tmp_path: Path) -> None:
    data = os.environ.get("PIPELINE_DATA_DIR")
    if not data:
        pytest.skip("needs the datasets: set PIPELINE_DATA_DIR to their folder")
    found = measure(tmp_path, problem, ROWS, MEMORY, Path(data))
    certificate, difference = LIMITS[problem]
    assert found.certificate <= certificate
    assert found.difference <= difference
    assert found.is_same
    assert found.peak <= 1 << 30
