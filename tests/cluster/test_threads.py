"""Workers that are threads of the driver: the same tables as of processes, and nothing left behind."""

from pathlib import Path

import psutil

from cluster import open_cluster
from cluster.profile import Profile
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


def test_nobody_else_can_reach_them(tmp_path: Path) -> None:
    for backend in ("threads", "local"):
        with open_cluster(Profile(backend=backend, jobs=1), tmp_path) as cluster:
            cluster.client.wait_for_workers(1, timeout=30)
            this = psutil.Process()
            listening = [
                connection.laddr.ip
                for process in (this, *this.children(recursive=True))
                for connection in process.net_connections()
                if connection.status == psutil.CONN_LISTEN
            ]
            assert set(listening) == {"127.0.0.1"}, backend
