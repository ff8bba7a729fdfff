"""Write a combined kernel to files, with the rows of the source that its rows and columns belong to."""

import shutil
from dataclasses import asdict
from pathlib import Path
from secrets import token_hex

import numpy as np

from kernel_pipeline.errors import PipelineError, StorageError
from kernel_pipeline.run.combined_kernel import CombinedKernel
from kernel_pipeline.run.directory import check_new_file
from kernel_pipeline.store.files import PARTIAL

FORMATS = (".npy", ".zarr")


def check_target(path: Path) -> None:
    """Raise an error if a kernel cannot be written to a path.

    Raises
    ------
    PipelineError
        If the extension is not known, or a file that would be written exists or is inside of a run directory.
    """
    if path.suffix not in FORMATS:
        raise PipelineError(f"--out: the file must end in {' or '.join(FORMATS)}; got {path.name!r}")
    for target in _targets(path):
        check_new_file(target)


def export_kernel(kernel: CombinedKernel, path: Path) -> list[Path]:
    """Write a kernel block by block, and return the files.

    `NAME.npy` contains the kernel, and `NAME.rows.npy` the number of the source row for each row and column.
    `NAME.zarr` is a group with the arrays `kernel` and `rows`, whose attributes name the dataset, the method and the
    weights.
    """
    check_target(path)
    targets = _targets(path)
    temporary = [target.with_name(f".{target.name}.{token_hex(8)}{PARTIAL}") for target in targets]
    try:
        if path.suffix == ".npy":
            m = len(kernel.rows)
            matrix = np.lib.format.open_memmap(temporary[0], mode="w+", dtype=np.float64, shape=(m, m))
            kernel.write_to(matrix)
            matrix.flush()
            with temporary[1].open("wb") as file:
                np.save(file, kernel.rows)
        else:
            _write_zarr(kernel, temporary[0])
        for source, target in zip(temporary, targets, strict=True):
            source.rename(target)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}. Choose another file with --out") from None
    finally:
        for source in temporary:
            if source.is_dir():
                shutil.rmtree(source)
            source.unlink(missing_ok=True)
    return targets


def _targets(path: Path) -> list[Path]:
    return [path, path.with_suffix(".rows.npy")] if path.suffix == ".npy" else [path]


def _write_zarr(kernel: CombinedKernel, path: Path) -> None:
    import zarr

    m = len(kernel.rows)
    group = zarr.open_group(path, mode="w-")
    group.attrs.update(
        {
            **asdict(kernel.about),
            "weights": dict(zip(kernel.kernels, kernel.weights.tolist(), strict=True)),
        }
    )
    rows = group.create_array("rows", shape=(m,), dtype="int64")
    rows[:] = kernel.rows
    side = min(kernel.side, m)
    kernel.write_to(group.create_array("kernel", shape=(m, m), chunks=(side, side), dtype="float64"))  # type: ignore[arg-type]
