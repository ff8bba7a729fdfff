"""Precomputed kernels in the order of the folds."""

from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.data import precomputed
from kernel_pipeline.data.kernel_files import OpenKernels
from kernel_pipeline.data.precomputed import PrecomputedKernels
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats, Integers
from tests.helpers.build import ROWS, load, put
from tests.pipeline.data.kernel_matrices import found, kernels, save

ORDER = np.random.default_rng(0).permutation(30)[:23]


def checked(folder: Path, values: Floats, order: Integers = ORDER, clip: bool = False) -> PrecomputedKernels:
    return PrecomputedKernels.from_files([found(save(folder / "string.npy", values), 30, clip=clip)], order)


@pytest.mark.parametrize("tile", [1, 5, 8, 23, 40])
@pytest.mark.parametrize("strip", [1, 8 * 23 * 10, 1 << 20])
def test_tiles_are_those_of_the_reordered_matrix(
    tile: int, strip: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precomputed, "STRIP_BYTES", strip)
    values = kernels(2, 30)
    files = [found(save(tmp_path / name, values[k]), 30) for k, name in enumerate(("a.zarr", "b.npy"))]
    stored = PrecomputedKernels.from_files(files, ORDER)
    for kernel in (0, 1):
        whole = np.full((23, 23), np.nan)
        for (i, j), part in stored.tiles(kernel, tile):
            assert i <= j
            whole[i * tile : (i + 1) * tile, j * tile : (j + 1) * tile] = part
        expected = values[kernel][np.ix_(ORDER, ORDER)]
        upper = ~np.isnan(whole)
        assert upper[np.triu_indices(23)].all()
        assert (whole[upper] == expected[upper]).all()
        assert (stored.dense()[kernel] == expected).all()


def test_rows_are_read_once_and_only_those_of_a_strip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precomputed, "STRIP_BYTES", 8 * 23 * 10)
    stored = checked(tmp_path, kernels(1, 30)[0])
    read, spans = OpenKernels.read, []

    def counting(self: OpenKernels, kernel: int, rows: Integers, columns: Integers) -> Floats:
        spans.append((len(rows), len(columns)))
        return read(self, kernel, rows, columns)

    monkeypatch.setattr(OpenKernels, "read", counting)
    for _ in stored.tiles(0, 5):
        pass
    assert spans == [(10, 23), (10, 13), (3, 3)]


def test_a_kernel_that_is_almost_constant_is_shifted(tmp_path: Path) -> None:
    values = kernels(2, 30) * 1e-6
    values[1] += 1.0
    stored = checked(tmp_path, values)
    assert stored.shifts == ((0.0, values[1][np.ix_(ORDER, ORDER)].max()),)


def test_the_fingerprint_depends_on_the_entries_after_clipping(tmp_path: Path) -> None:
    values = kernels(1, 30)
    one = checked(tmp_path, values).fingerprint
    assert checked(tmp_path, values[0]).fingerprint == one
    assert checked(tmp_path, values, clip=True).fingerprint == one  # there is nothing to clip
    changed = values.copy()
    changed[0, ORDER[3], ORDER[4]] = changed[0, ORDER[4], ORDER[3]] = changed[0, ORDER[3], ORDER[4]] + 1e-9
    assert checked(tmp_path, changed).fingerprint != one
    unused = np.setdiff1d(np.arange(30), ORDER)[0]
    changed = values.copy()
    changed[0, unused, unused] += 1
    assert checked(tmp_path, changed).fingerprint == one


def test_a_file_that_changes_after_the_checks_is_not_stored(tmp_path: Path) -> None:
    stored = checked(tmp_path, kernels(1, 30))
    save(tmp_path / "string.npy", kernels(2, 30))
    with pytest.raises(DataError, match="changed while it was read"):
        next(stored.tiles(0, 5))


def test_the_fingerprint_of_a_dataset_depends_on_its_kernels(tmp_path: Path) -> None:
    put(tmp_path, ROWS)
    families = [{"family": "precomputed", "path": "string.npy"}]
    prints = set()
    for seed in (0, 1, 1):
        save(tmp_path / "string.npy", kernels(1, 9, seed)[0])
        prints.add(load(tmp_path, kernels=families).fingerprint)
    assert len(prints) == 2
