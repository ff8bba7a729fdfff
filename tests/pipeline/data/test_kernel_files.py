"""Files of precomputed kernels in every format are read in parts."""

import os
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from kernel_pipeline.errors import DataError, TooLargeError
from tests.pipeline.data.kernel_matrices import found, kernels, save

SUFFIXES = ("npy", "npz", "zarr")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_part_of_any_format_can_be_read(suffix: str, count: int, tmp_path: Path) -> None:
    values = kernels(max(1, count), 20)
    file = found(save(tmp_path / f"string.{suffix}", values if count else values[0]), 20)
    assert file.count == len(values)
    some, others, consecutive = np.array([0, 3, 4, 19]), np.array([1, 18]), np.arange(5, 12)
    with file.open() as opened:
        for kernel in range(file.count):
            for rows in (some, consecutive):
                for columns in (some, others, consecutive, np.arange(20)):
                    part = opened.read(kernel, rows, columns)
                    assert part.dtype == np.float64
                    assert (part == values[kernel][np.ix_(rows, columns)]).all()


@pytest.mark.parametrize(
    ("dtype", "suffix"), [*product(("float32", "int16", "bool"), SUFFIXES), (">f8", "npy"), (">f8", "npz")]
)
def test_all_real_types_become_float64(dtype: str, suffix: str, tmp_path: Path) -> None:
    values = (kernels(1, 9)[0] * 3).astype(dtype)
    with found(save(tmp_path / f"string.{suffix}", values), 9).open() as opened:
        part = opened.read(0, np.arange(9), np.arange(9))
    assert part.dtype == np.dtype("=f8")
    assert (part == values).all()


def test_rows_of_a_file_in_column_order_are_read_in_one_piece(tmp_path: Path) -> None:
    values = kernels(2, 9)
    with found(save(tmp_path / "string.npy", np.asfortranarray(values[0])), 9).open() as opened:
        assert opened._array.flags.c_contiguous
        assert (opened.read(0, np.arange(3), np.arange(9)) == values[0][:3]).all()
    with found(save(tmp_path / "graph.npy", np.asfortranarray(values)), 9).open() as opened:
        assert (opened.read(1, np.arange(3), np.array([0, 8])) == values[1][:3][:, [0, 8]]).all()


@pytest.mark.parametrize("shape", [(8, 8), (9,), (9, 8), (2, 8, 8), (1, 2, 9, 9), (0, 9, 9), (9, 9, 2)])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_another_shape_is_refused(shape: tuple[int, ...], suffix: str, tmp_path: Path) -> None:
    if suffix == "zarr":
        zarr.create_array(store=str(tmp_path / "string.zarr"), shape=shape, dtype="float64")
    else:
        save(tmp_path / f"string.{suffix}", np.zeros(shape))
    with pytest.raises(DataError) as caught:
        found(tmp_path / f"string.{suffix}", 9, left_out=2)
    for words in (f"shape {shape}", "(9, 9)", "(p, 9, 9)", "per row of the source", "2 rows that are left out"):
        assert words in str(caught.value)


def put_text(path: Path) -> None:
    path.write_text("no kernel")


def put_two(path: Path) -> None:
    np.savez(path, a=np.zeros((9, 9)), b=np.zeros((9, 9)))


def put_group(path: Path) -> None:
    zarr.create_group(str(path))


def put_metadata(path: Path) -> None:
    path.mkdir()
    (path / "zarr.json").write_text('{"node_type": ')


def put_other_entry(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "no array")


def put_archive(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, kernel=np.zeros((9, 9)))


def put_short(path: Path) -> None:
    np.save(path, np.zeros((9, 9)))
    os.truncate(path, 500)


def put_values(values: Any) -> Any:
    return lambda path: np.save(path, values)


@pytest.mark.parametrize(
    ("name", "put", "words"),
    [
        ("string.npy", None, "no file"),
        ("string.zarr", None, "no folder"),
        ("string.zarr", put_text, "string.zarr is a file, but a folder is required"),
        ("string.csv", put_text, r"must end in \.npy or \.npz or \.zarr"),
        (
            "string.npy",
            put_text,
            r"kernels\[0\]\.path: string\.npy cannot be read: it is not an npy file\. Save .* numpy\.save, or",
        ),
        ("string.npz", put_text, r"string\.npz cannot be read: it is not an npz file\. Save .* numpy\.savez, or"),
        ("string.npz", put_two, r"2 arrays \(a, b\); one array is required"),
        ("string.npz", put_other_entry, r"its entry 'a\.txt' is not an array"),
        (
            "string.zarr",
            put_group,
            r"string\.zarr cannot be read: it is not a zarr array\. Save .* zarr\.save_array, or",
        ),
        ("string.zarr", Path.mkdir, r"string\.zarr cannot be read: it is not a zarr array"),
        ("string.zarr", put_metadata, r"string\.zarr cannot be read: it is not a zarr array"),
        ("string.npy", put_archive, "it is not an npy file"),
        ("string.npy", put_short, r"incomplete: 276 bytes of its array of shape \(9, 9\) are missing"),
        ("string.npy", Path.touch, "it is not an npy file"),
        (
            "string.npy",
            put_values(np.zeros((9, 9), complex)),
            r"complex128; real numbers are required\. Save its real part: K\.real",
        ),
        ("string.npy", put_values(np.full((9, 9), "a")), r"real numbers .* K\.astype\(float\)"),
        ("string.npy", put_values(np.full((9, 9), None)), "has the type object; real numbers"),
    ],
)
def test_what_is_not_a_kernel_is_refused(name: str, put: Any, words: str, tmp_path: Path) -> None:
    if put:
        put(tmp_path / name)
    with pytest.raises(DataError, match=words) as caught:
        found(tmp_path / name, 9)
    assert "dataset 'things'" in str(caught.value)


def test_a_damaged_chunk_is_reported(tmp_path: Path) -> None:
    file = found(save(tmp_path / "string.zarr", kernels(1, 9)[0]), 9)
    chunk = tmp_path / "string.zarr" / "c" / "1" / "1"
    chunk.write_bytes(b"x" * chunk.stat().st_size)
    file = found(file.path, 9)
    with (
        pytest.raises(DataError, match=r"dataset 'things': kernels\[0\]\.path: string\.zarr cannot be read"),
        file.open() as opened,
    ):
        opened.read(0, np.arange(9), np.arange(9))


def test_a_file_that_changes_in_between_is_refused(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        file = found(save(tmp_path / f"string.{suffix}", kernels(1, 9)[0]), 9)
        inner = next(path for path in sorted(file.path.rglob("*")) if path.is_file()) if suffix == "zarr" else file.path
        os.utime(inner, ns=(1 << 62, 1 << 62))
        with pytest.raises(DataError, match="changed while it was read"), file.open():
            pass


def test_an_npz_file_above_the_memory_limit_is_refused_without_reading_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "string.npz", np.zeros((1000, 1000)))
    monkeypatch.setattr("kernel_pipeline.data.table_size.SMALL_TABLE_BYTES", 0)
    monkeypatch.setattr("distributed.system.MEMORY_LIMIT", 16_000_000)
    found(path, 1000)
    monkeypatch.setattr("distributed.system.MEMORY_LIMIT", 15_999_999)
    with pytest.raises(
        TooLargeError, match=r"needs 15\.3 MiB .* \(1000, 1000\), but this machine has 15\.3 MiB\. .* npy"
    ):
        found(path, 1000)
