"""Runs without a result, because of the data or the config."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import FailedError
from tests.helpers.build import ROWS, config_values, put, put_config
from tests.pipeline.cli.refusals import run


def test_a_retry_is_not_proposed_if_it_cannot_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, ROWS)
    put_config(tmp_path, config_values(kernels=[{"family": "gaussian", "gamma": 1e-320}]))
    done = run("sweep.toml", "--out", "run", "--cluster", "threads", "--workers", "1")
    assert done.exit_code == FailedError.exit_code
    assert "failed: no kernel varies on the training set" in done.output
    assert "choose a larger gamma, or other kernels" in done.output
    assert "--retry-failed" not in done.output
    status = CliRunner().invoke(main, ["status", "run"])
    assert " failed because of the data or the config:" in status.output
    assert "--retry-failed" not in status.output
