"""Files of kernels for the tests of this folder."""

from pathlib import Path
from typing import Any

import numpy as np
import zarr

from kernel_pipeline.data.kernel_files import KernelFile
from kernel_pipeline.tasks.arrays import Floats


def kernels(count: int, rows: int, seed: int = 0) -> Floats:
    """Return positive definite matrices (count, rows, rows) that are symmetric to the bit."""
    factors = np.random.default_rng(seed).standard_normal((count, rows, rows + 3))
    return np.stack([factor @ factor.T / rows for factor in factors])


def save(path: Path, values: Any, chunk: int = 7, **options: Any) -> Path:
    """Save an array in the format that the name of the file says."""
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez_compressed(path, kernel=values, **options)
    else:
        chunks = (*(1 for _ in values.shape[:-2]), chunk, chunk)
        zarr.create_array(store=str(path), data=values, chunks=chunks, **options)
    return path


def found(path: Path, rows: int, left_out: int = 0, clip: bool = False) -> KernelFile:
    """Open a file as the first kernels of a dataset."""
    return KernelFile.from_path(path, "kernels[0].path", "things", rows, left_out, clip)
