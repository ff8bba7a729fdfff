"""Log files, also on a full disk."""

import logging
from pathlib import Path

import pytest

from kernel_pipeline.cluster.log_file import LogFile

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, a device of Linux on which every write fails")
def test_full_disk_is_ignored_while_writing_and_closing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    handler = LogFile(FULL)
    handler.emit(logging.makeLogRecord({"msg": "one line"}))
    handler.close()
    assert capfd.readouterr() == ("", "")


def test_lines_state_time_level_and_logger(tmp_path: Path) -> None:
    handler = LogFile(tmp_path / "one.log")
    handler.emit(logging.makeLogRecord({"msg": "one line", "levelname": "INFO", "name": "here"}))
    handler.close()
    assert (tmp_path / "one.log").read_text().endswith(" INFO here: one line\n")
