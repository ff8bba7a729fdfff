from pathlib import Path

import google_crc32c
import numpy as np
import pytest

from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.digests import IRREGULAR, chunk_digest, content_digest, size_of
from kernel_pipeline.store.local_storage import LocalStorage

CHUNK = "gram.zarr/d/gram/c/0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with one array of one chunk."""
    store = RunStore(LocalStorage(tmp_path))
    store.create(GRAM, "d/gram", (5,), (5,), "for a test")
    store.write(GRAM, "d/gram", np.arange(5.0))
    return tmp_path


@pytest.mark.parametrize("full", [False, True])
def test_a_chunk_has_the_checksum_at_its_end_and_its_size(root: Path, full: bool) -> None:
    content = (root / CHUNK).read_bytes()
    assert len(content) == 5 * 8 + 4
    assert int.from_bytes(content[-4:], "little") == google_crc32c.value(content[:-4])
    assert chunk_digest(root / CHUNK, full) == f"{content[-4:].hex()}:44"


def test_only_a_full_check_reads_the_content_of_a_chunk(root: Path) -> None:
    before = chunk_digest(root / CHUNK)
    content = bytearray((root / CHUNK).read_bytes())
    content[9] ^= 4
    (root / CHUNK).write_bytes(content)
    assert chunk_digest(root / CHUNK, full=False) == before
    assert chunk_digest(root / CHUNK, full=True) == "damaged:44"


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kept", [*range(4), 5, 43])
def test_a_truncated_chunk_has_another_digest(root: Path, kept: int, full: bool) -> None:
    before, content = chunk_digest(root / CHUNK), (root / CHUNK).read_bytes()
    (root / CHUNK).write_bytes(content[:kept])
    found = chunk_digest(root / CHUNK, full)
    assert found != before
    assert found.endswith(f":{kept}")
    assert found == (f"damaged:{kept}" if full else f"{content[:kept][-4:].hex()}:{kept}")
    assert size_of(found) == kept


@pytest.mark.parametrize("name", ["config.toml", "results/rows.csv", "gram.zarr/zarr.json", "gram.zarr/d/zarr.json"])
@pytest.mark.parametrize("content", [b"", b"x", b"name = 'a'\n"])
@pytest.mark.parametrize("full", [False, True])
def test_every_check_reads_any_other_file_completely(tmp_path: Path, name: str, content: bytes, full: bool) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    assert LocalStorage(tmp_path).digests([name], full)[name] == content_digest(content)
    path.write_bytes(content + b"\n")
    assert LocalStorage(tmp_path).digests([name], full)[name] != content_digest(content)


def test_the_digest_of_a_content_is_its_checksum_and_size() -> None:
    assert content_digest(b"123456789") == "e3069283:9"  # the check value of CRC-32C
    assert content_digest(b"") == "00000000:0"
    assert size_of("e3069283:9") == 9
    assert size_of("") == 0


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", ["config.toml", "gram.zarr/d/gram/c/1"])
def test_a_missing_file_has_no_digest(root: Path, name: str, full: bool) -> None:
    assert LocalStorage(root).digests([name], full)[name] == ""


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", ["gram.zarr/d/gram/c", "gram.zarr"])
def test_a_folder_is_not_opened(root: Path, name: str, full: bool) -> None:
    assert LocalStorage(root).digests([name], full)[name] == IRREGULAR
