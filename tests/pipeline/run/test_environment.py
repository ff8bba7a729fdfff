import json
import subprocess
from pathlib import Path

import pytest

from kernel_pipeline.run.environment import FORMAT, environment, version_changes
from tests.helpers.sweeps import plan_in, small_config


def test_the_environment_names_versions_data_and_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, samples = plan_in(tmp_path / "run", small_config())
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr("kernel_pipeline.run.environment.__file__", str(tmp_path / "pipeline/run/environment.py"))

    def git(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, stdout="abc123+\n")

    monkeypatch.setattr("kernel_pipeline.run.environment.subprocess.run", git)
    content = json.loads(environment([loaded.info for loaded in samples], tmp_path))
    assert content["git"] == "abc123+"
    assert content["datasets"] == {loaded.name: loaded.fingerprint for loaded in samples}
    assert content["data_folder"] == str(tmp_path)
    assert content["format"] == FORMAT


@pytest.mark.parametrize("error", [OSError("no git"), subprocess.CalledProcessError(128, "git")])
def test_without_git_the_commit_is_unknown(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr("kernel_pipeline.run.environment.__file__", str(tmp_path / "pipeline/run/environment.py"))

    def git(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("kernel_pipeline.run.environment.subprocess.run", git)
    assert json.loads(environment([], tmp_path))["git"] is None


def test_other_versions_of_libraries_are_named() -> None:
    recorded = json.loads(environment([], Path()))
    assert version_changes(json.dumps(recorded)) == []
    now = recorded["libraries"]["numpy"]
    recorded["libraries"] |= {"numpy": "1.0", "no-longer-used": "2.0"}
    del recorded["libraries"]["zarr"]
    assert version_changes(json.dumps(recorded)) == [f"numpy 1.0 -> {now}"]
