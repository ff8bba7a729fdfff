from pathlib import Path

import pytest

from pipeline.directory import check_directory, prepare_directory
from pipeline.errors import RefusedError
from tests.run.sweeps import plan_in, small_config


def test_a_crash_at_any_moment_of_the_beginning_leaves_a_directory_that_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, samples = plan_in(tmp_path / "elsewhere", small_config())
    root = tmp_path / "run"
    for place in ("pipeline.directory.to_toml", "pipeline.directory.environment"):
        with monkeypatch.context() as patch:

            def crash(*_: object) -> str:
                raise MemoryError

            patch.setattr(place, crash)
            with pytest.raises(MemoryError):
                prepare_directory(root, small_config(), samples)
        check_directory(root, small_config(), samples)
    prepare_directory(root, small_config(), samples)
    check_directory(root, small_config(), samples)
    assert (root / "logs").is_dir()


def test_a_name_that_the_file_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="File name too long"):
        check_directory(tmp_path / ("x" * 300), small_config(), [])
