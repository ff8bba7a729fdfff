"""Checks of precomputed kernels: each message states by how much a kernel violates a condition."""

from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.data import kernel_checks
from kernel_pipeline.data.kernel_checks import CheckedKernel, check_kernel
from kernel_pipeline.data.kernel_files import OpenKernels
from kernel_pipeline.errors import DataError, TooLargeError
from kernel_pipeline.tasks.arrays import Floats, Integers
from tests.pipeline.data.kernel_matrices import found, kernels, save

ROWS = 50


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_checks, "BLOCK", 16)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the memory to less than one matrix needs."""
    monkeypatch.setattr("kernel_pipeline.data.table_size.SMALL_TABLE_BYTES", 0)
    monkeypatch.setattr("distributed.system.MEMORY_LIMIT", 8 * ROWS**2 - 1)
    monkeypatch.setattr(kernel_checks, "STRIP_BYTES", 8 * ROWS * 5)


def checked(folder: Path, kernel: Floats, used: Integers | None = None, clip: bool = False) -> CheckedKernel:
    file = found(save(folder / "string.npy", kernel), ROWS, clip=clip)
    return check_kernel(file, 0, np.arange(ROWS) if used is None else used)


def indefinite(least: float) -> tuple[Floats, Floats]:
    """Return a matrix with a given smallest eigenvalue, and all its eigenvalues."""
    values, vectors = np.linalg.eigh(kernels(1, ROWS)[0])
    values[:2] = least, least / 2
    matrix = (vectors * values) @ vectors.T
    return (matrix + matrix.T) / 2, values


def test_a_valid_kernel_is_accepted_with_its_range(tmp_path: Path) -> None:
    kernel = kernels(1, ROWS)[0]
    result = checked(tmp_path, kernel)
    assert (result.smallest, result.largest, result.clipped) == (kernel.min(), kernel.max(), None)


@pytest.mark.usefixtures("little_memory")
def test_a_kernel_above_the_memory_limit_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    read = OpenKernels.read

    def counting(self: OpenKernels, kernel: int, rows: Integers, columns: Integers) -> Floats:
        sizes.append(len(rows) * len(columns))
        return read(self, kernel, rows, columns)

    monkeypatch.setattr(OpenKernels, "read", counting)
    assert checked(tmp_path, kernels(1, ROWS)[0]).clipped is None
    assert max(sizes) <= 16 * 16
    products = sizes[len(list(range(0, ROWS, 16))) ** 2 :]  # of the Lanczos iteration, after each block was read once
    assert products[:10] == [5 * columns for columns in range(ROWS, 0, -5)]
    assert len(products) > 10 * 10


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-5)])
def test_asymmetry_beyond_rounding_is_refused(dtype: str, tolerance: float, tmp_path: Path) -> None:
    kernel = kernels(1, ROWS)[0]
    scale = np.abs(kernel).max()
    kernel[33, 4] += 0.5 * tolerance * scale
    checked(tmp_path, kernel.astype(dtype))
    kernel[33, 4] += 2 * tolerance * scale
    with pytest.raises(DataError) as caught:
        checked(tmp_path, kernel.astype(dtype))
    relative = "times the largest absolute value"
    for words in ("string.npy is not symmetric", "row 4, column 33", f"{tolerance:g}", relative):
        assert words in str(caught.value)


def test_the_largest_asymmetry_is_named(tmp_path: Path) -> None:
    kernel = kernels(1, ROWS)[0]
    kernel[2, 3] += 0.5
    kernel[40, 20] += 0.75
    with pytest.raises(DataError, match=r"row 20, column 40 .* differ by 0\.75, which is 0\.\d+ times"):
        checked(tmp_path, kernel)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_entries_that_are_not_finite_are_counted(value: float, tmp_path: Path) -> None:
    kernel = kernels(1, ROWS)[0]
    kernel[[40, 20, 7], [3, 1, 49]] = value
    with pytest.raises(DataError, match=r"3 entries that are NaN or infinite, the first in row 7, column 49"):
        checked(tmp_path, kernel)
    # Rows that are not used are not checked.
    used = np.setdiff1d(np.arange(ROWS), [40, 20, 7])
    assert checked(tmp_path, kernel, used).clipped is None


def test_huge_entries_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"entries up to 2e\+100; at most 1e\+100 .* Divide"):
        checked(tmp_path, np.eye(ROWS) * 2e100)


def test_an_indefinite_kernel_is_refused_with_its_smallest_eigenvalue(tmp_path: Path) -> None:
    kernel, values = indefinite(-0.25)
    with pytest.raises(DataError) as caught:
        checked(tmp_path, kernel)
    relative = f"{0.25 / values.max():.3g} times the largest one ({values.max():.3g})"
    for words in ("not positive semi-definite", "eigenvalue is -0.25", relative, "1e-10", "psd = 'clip'"):
        assert words in str(caught.value)


@pytest.mark.usefixtures("little_memory")
def test_an_indefinite_kernel_above_the_memory_limit_is_refused_too(tmp_path: Path) -> None:
    kernel, _ = indefinite(-0.25)
    found = r"eigenvalue is at most -0\.25 \(estimated by a Lanczos iteration\); .* psd = 'clip'"
    with pytest.raises(DataError, match=found):
        checked(tmp_path, kernel)
    with pytest.raises(TooLargeError, match=r"psd = 'clip' needs 78\.1 KiB .* 50 rows, .* has 19\.5 KiB"):
        checked(tmp_path, kernel, clip=True)


def test_rounding_is_not_indefinite(tmp_path: Path) -> None:
    factor = np.random.default_rng(3).standard_normal((ROWS, 4))
    low_rank = factor @ factor.T
    assert np.linalg.eigvalsh(low_rank)[0] < 0
    for kernel in (low_rank, low_rank.astype("float32"), np.zeros((ROWS, ROWS)), np.ones((ROWS, ROWS))):
        assert checked(tmp_path, kernel, clip=True).clipped is None


def test_clipping_reports_what_it_removes(tmp_path: Path) -> None:
    kernel, values = indefinite(-0.25)
    clipped = checked(tmp_path, kernel, clip=True).clipped
    assert clipped is not None
    assert clipped.negative == 2
    assert clipped.smallest == pytest.approx(-0.25)
    assert clipped.negative_share == pytest.approx(0.375 / np.abs(values).sum())


def test_the_digest_depends_only_on_the_entries_that_are_used(tmp_path: Path) -> None:
    kernel = kernels(1, ROWS)[0]
    used = np.arange(1, ROWS)
    digest = checked(tmp_path, kernel, used).digest
    kernel[0, 5] = kernel[5, 0] = 0.125
    assert checked(tmp_path, kernel, used).digest == digest
    kernel[44, 5] = kernel[5, 44] = np.nextafter(kernel[5, 44], 9.0)
    assert checked(tmp_path, kernel, used).digest != digest
