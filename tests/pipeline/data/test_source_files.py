"""Files of datasets are recorded, and those that have changed are found."""

import os
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.data.source_files import changed_source, describe_sources, file_sha256
from tests.helpers.build import ROWS, config_values, parsed, put, synthetic_values
from tests.pipeline.data.documents import values
from tests.pipeline.data.kernel_matrices import kernels, save

SENTIMENT_FILES = [
    "sentiment/processed_acl/books/positive.review.gz",
    "sentiment/ratings/books_positive.txt",
    "sentiment/processed_acl/books/negative.review.gz",
    "sentiment/ratings/books_negative.txt",
]


@pytest.mark.parametrize(
    ("config", "files"),
    [
        (config_values(path="inner/things.csv"), ["inner/things.csv"]),
        (values("text"), ["words.txt"]),
        (values("sentiment"), SENTIMENT_FILES),
        (synthetic_values(), []),
    ],
    ids=["file", "text", "sentiment", "synthetic"],
)
def test_every_source_names_its_files(config: dict[str, Any], files: list[str]) -> None:
    assert parsed(config).dataset[0].source_files() == files


def test_existing_files_are_recorded_with_size_time_and_digest(tmp_path: Path) -> None:
    config = parsed(config_values())
    assert describe_sources(config, tmp_path) == {}
    path = put(tmp_path, ROWS)
    assert describe_sources(config, tmp_path) == {
        "things": {
            "things.csv": {
                "bytes": len(ROWS),
                "mtime_ns": path.stat().st_mtime_ns,
                "sha256": file_sha256(path),
            }
        }
    }


def test_a_file_has_changed_only_if_its_content_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, path = parsed(config_values()), put(tmp_path, ROWS)
    dataset, recorded = config.dataset[0], describe_sources(config, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("kernel_pipeline.data.source_files.file_sha256", None)  # an unchanged file is not read
        assert changed_source(dataset, recorded, tmp_path) is None
        put(tmp_path, ROWS + ROWS)  # nor is a file of another size
        assert changed_source(dataset, recorded, tmp_path) == path
    put(tmp_path, ROWS)
    os.utime(path, ns=(1, 1))
    assert changed_source(dataset, recorded, tmp_path) is None
    put(tmp_path, ROWS.replace("0", "5", 1))
    os.utime(path, ns=(1, 1))
    assert changed_source(dataset, recorded, tmp_path) == path
    path.unlink()
    assert changed_source(dataset, recorded, tmp_path) is None
    assert changed_source(dataset, {}, tmp_path) is None


def test_files_of_precomputed_kernels_are_recorded_as_well(tmp_path: Path) -> None:
    families = [{"family": "precomputed", "path": path} for path in ("inner.zarr", "string.npy")]
    config = parsed(config_values(kernels=families))
    dataset = config.dataset[0]
    put(tmp_path, ROWS)
    array, file = (save(tmp_path / name, kernels(1, 9)[0]) for name in ("inner.zarr", "string.npy"))
    recorded = describe_sources(config, tmp_path)
    assert list(recorded["things"]) == ["things.csv", "inner.zarr", "string.npy"]
    sizes = sum(path.stat().st_size for path in array.rglob("*") if path.is_file())
    assert recorded["things"]["inner.zarr"]["bytes"] == sizes
    assert changed_source(dataset, recorded, tmp_path) is None
    chunk = array / "c" / "0" / "1"
    os.utime(chunk, ns=(1 << 62, 1 << 62))
    assert changed_source(dataset, recorded, tmp_path) is None
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert changed_source(dataset, recorded, tmp_path) == array
    chunk.rename(chunk.with_name("9"))
    assert changed_source(dataset, recorded, tmp_path) == array
    chunk.with_name("9").rename(chunk)
    chunk.write_bytes(content)
    assert changed_source(dataset, recorded, tmp_path) is None
    save(file, kernels(1, 9, seed=1)[0])
    assert changed_source(dataset, recorded, tmp_path) == file
