"""Arrays in memory and in a temporary file."""

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.stages.scratch import Scratch


@pytest.mark.parametrize("max_bytes", [0, 200, 10**6])
def test_arrays_are_those_stored_last(max_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rng = np.random.default_rng(0)
    arrays = {(kind, number): rng.normal(size=(number + 1, 5)) for kind in ("a", "b") for number in range(4)}
    with Scratch(max_bytes) as scratch:
        for key in arrays:
            scratch.put(*key, np.zeros(arrays[key].shape))
        for key, values in reversed(arrays.items()):
            scratch.put(*key, np.asfortranarray(values))
        for key, values in arrays.items():
            np.testing.assert_array_equal(scratch.get(*key), values)
        assert list(tmp_path.iterdir()) == []  # nothing would be left if the process were killed now


def test_another_shape_is_refused() -> None:
    with Scratch(0) as scratch:
        scratch.put("a", 0, np.zeros((2, 3)))
        with pytest.raises(ValueError, match=r"shape \(2, 3\), not \(3, 3\)"):
            scratch.put("a", 0, np.zeros((3, 3)))


def test_a_full_disk_names_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Scratch(0) as scratch:
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left") as failed:
            scratch.put("a", 0, np.zeros((2, 3)))
    assert failed.value.filename == str(tmp_path)
