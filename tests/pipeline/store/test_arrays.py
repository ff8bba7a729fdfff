from pathlib import Path

import numpy as np
import pytest
import zarr

from kernel_pipeline.store.arrays import GRAM, DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    store = RunStore(LocalStorage(tmp_path))
    store.create(GRAM, "d/gram", (2, 5, 5), (2, 3, 3), "for a test", attributes={"kernels": ["a", "b"]})
    return store


def test_a_chunk_is_written_whole_and_read_back(store: RunStore) -> None:
    values = np.arange(2 * 3 * 2, dtype=float).reshape(2, 3, 2)
    digests = store.write_chunk(GRAM, "d/gram", (0, 0, 1), values)
    assert list(digests) == ["gram.zarr/d/gram/c/0/0/1"]
    np.testing.assert_array_equal(store.read(GRAM, "d/gram", (slice(None), slice(0, 3), slice(3, 5))), values)
    assert dict(store.array(GRAM, "d/gram").attrs) == {"about": "for a test", "kernels": ["a", "b"]}


def test_reading_values_that_were_never_written_is_refused(store: RunStore) -> None:
    with pytest.raises(DamagedError, match="lacks values"):
        store.read(GRAM, "d/gram")


def test_zeros_are_written_too(store: RunStore) -> None:
    store.write_chunk(GRAM, "d/gram", (0, 0, 0), np.zeros((2, 3, 3)))
    assert not store.read(GRAM, "d/gram", (0, 0, 0))


@pytest.mark.parametrize("place", [0, 7, 71, 140, -5, -1])
@pytest.mark.parametrize("bit", [0, 5])
def test_every_flipped_bit_is_detected(store: RunStore, place: int, bit: int) -> None:
    (key,) = store.write_chunk(GRAM, "d/gram", (0, 0, 0), np.ones((2, 3, 3)))
    path = Path(store.root.address) / key
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"(?i)d/gram cannot be read: .*checksum"):
        store.read(GRAM, "d/gram", (slice(None), slice(0, 3), slice(0, 3)))


def test_digests_differ_between_chunks_and_are_empty_for_a_missing_one(store: RunStore) -> None:
    (first,) = store.write_chunk(GRAM, "d/gram", (0, 0, 0), np.ones((2, 3, 3))).values()
    (second,) = store.write_chunk(GRAM, "d/gram", (0, 0, 1), np.full((2, 3, 2), 2.0)).values()
    assert first != second
    for full in (False, True):
        assert store.root.digests(["gram.zarr/d/gram/c/0/0/1"], full)["gram.zarr/d/gram/c/0/0/1"] == second
        assert store.root.digests(["gram.zarr/d/gram/c/0/1/1"], full)["gram.zarr/d/gram/c/0/1/1"] == ""


def test_an_existing_array_is_not_created_again(store: RunStore) -> None:
    store.write_chunk(GRAM, "d/gram", (0, 0, 0), np.ones((2, 3, 3)))
    store.create(GRAM, "d/gram", (2, 5, 5), (2, 3, 3), "again")
    assert store.read(GRAM, "d/gram", (0, 0, 0)) == 1.0


def test_arrays_can_be_read_with_zarr(store: RunStore) -> None:
    store.write_chunk(GRAM, "d/gram", (0, 0, 0), np.ones((2, 3, 3)))
    group = zarr.open_group(f"{store.root}/{GRAM}", mode="r")
    array = group["d/gram"]
    assert isinstance(array, zarr.Array)
    assert array.metadata.zarr_format == 3
    assert np.isnan(array.fill_value)
