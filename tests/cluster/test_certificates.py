"""The certificates of a run."""

import os
import sys
from pathlib import Path

import pytest

from kernel_pipeline.cluster.certificates import CERTIFICATES, fresh_certificates
from kernel_pipeline.cluster.errors import ProfileError


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ProfileError, match="pip install cryptography, or add --insecure"):
        fresh_certificates(tmp_path).__enter__()


def test_certificates_are_private_and_removed_at_the_end(tmp_path: Path) -> None:
    old = tmp_path / f"{CERTIFICATES}old"
    old.mkdir()
    (old / "key").write_text("of a run that was killed")
    mask = os.umask(0)
    try:
        with fresh_certificates(tmp_path) as security:
            (folder,) = tmp_path.iterdir()
            assert folder != old
            assert folder.stat().st_mode & 0o777 == 0o700
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
            assert security.require_encryption
    finally:
        os.umask(mask)
    assert not list(tmp_path.iterdir())
