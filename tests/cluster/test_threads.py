"""Workers that are threads of the driver: the same tables as of processes, and nothing left behind."""

from pathlib import Path

from tests.faults.harness import assert_same, write_config
from tests.run.sweeps import pipeline


def test_threads_give_the_tables_of_processes(tmp_path: Path) -> None:
    write_config(tmp_path)
    for cluster in ("local", "threads"):
        done = pipeline("run", "tiny.toml", "--cluster", cluster, "--workers", "2", "--out", cluster, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "2 workers" in done.stdout
        assert not done.stderr
    assert_same(tmp_path / "threads", tmp_path / "local")
    assert (tmp_path / "threads" / "logs" / "driver.log").exists()
