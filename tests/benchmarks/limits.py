"""Measure the limits of this machine with one process and with several at a time, without the pipeline.

All rates are bytes of Gram matrices per second, so that they can be compared with each other and with a run.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np

from kernel_pipeline.cluster.settings import ENVIRONMENT
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.kernels.family import Samples
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

DURATION_S = 3.0
# Time for all processes to get ready before the first one is measured.
PREPARATION_S = 2.5
FOLDS, FEATURES = 5, 10
CACHED = 1 << 15
LARGE = 1 << 23
# Number of chunks that are written in turn, so that the system has to keep all of them.
CHUNKS = 64

Steps = Generator[int, None, None]
Probe = Callable[[Path, int, int], Steps]


def expm1(_folder: Path, _tile: int, kernels: int) -> Steps:
    """Compute one `expm1` per entry, which serves a family with any number of kernels."""
    values, out = np.linspace(-3.0, 0.0, CACHED), np.empty(CACHED)
    while True:
        np.expm1(values, out=out)
        yield kernels * out.nbytes


def copy(_folder: Path, _tile: int, _kernels: int) -> Steps:
    """Copy an array in memory."""
    values, out = np.ones(LARGE), np.empty(LARGE)
    while True:
        np.copyto(out, values)
        yield out.nbytes


def tile(_folder: Path, side: int, kernels: int) -> Steps:
    """Compute a tile: distances, kernels and sums."""
    rng = np.random.default_rng(0)
    samples = FOLDS * side
    features, targets = rng.random((samples, FEATURES)), rng.standard_normal((samples, 1))
    bounds = np.arange(FOLDS + 1) * side
    sums, values = Sums.zeros(FOLDS, kernels, 1, samples), np.empty((kernels, side, side))
    fill = GaussianFamily((0, kernels - 1)).prepare(Samples(features))
    while True:
        add_tile(sums, fill, targets, bounds, (slice(0, side), slice(side, 2 * side)), values)
        yield values.nbytes


def store(folder: Path, side: int, kernels: int) -> Steps:
    """Write chunks with checksums, and read them back for their digests; the system may keep them in memory."""
    made, values = RunStore(LocalStorage(folder)), np.ones((kernels, side, side))
    made.create(GRAM, "probe", (kernels, side, CHUNKS * side), values.shape, "a probe")
    for number in count():
        made.write_chunk(GRAM, "probe", (0, 0, number % CHUNKS), values)
        yield values.nbytes


def disk(folder: Path, _tile: int, _kernels: int) -> Steps:
    """Write plain files, and flush each of them to the disk."""
    content = bytes(8 * LARGE)
    with (folder / "probe").open("wb", buffering=0) as file:
        while True:
            file.seek(0)
            file.write(content)
            os.fsync(file.fileno())
            yield len(content)


def measured_rate(probe: Probe, processes: int, folder: Path, side: int, kernels: int) -> float:
    """Return the rate of a probe in bytes per second, summed over all processes."""
    context = multiprocessing.get_context("spawn")
    begin = time.time() + PREPARATION_S
    with patch.dict(os.environ, ENVIRONMENT), ProcessPoolExecutor(processes, mp_context=context) as pool:
        parts = [pool.submit(_rate, probe, folder, side, kernels, begin) for _ in range(processes)]
        return sum(part.result() for part in parts)


def _rate(probe: Probe, folder: Path, side: int, kernels: int, begin: float) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as own:
        steps = probe(Path(own), side, kernels)
        next(steps)  # allocate the memory and load the libraries
        time.sleep(max(0.0, begin - time.time()))
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < DURATION_S:
            done += next(steps)
        seconds = time.perf_counter() - start
        steps.close()
        return done / seconds
