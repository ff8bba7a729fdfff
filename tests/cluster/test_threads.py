"""Workers that are threads of the driver do not listen on any port."""

from pathlib import Path
from urllib.request import urlopen

from kernel_pipeline.cluster import open_cluster
from kernel_pipeline.cluster.profile import Profile
from tests.cluster.listening import listening


def test_threads_do_not_listen_on_any_port(tmp_path: Path) -> None:
    before = listening()
    with open_cluster(Profile(backend="threads", jobs=1), tmp_path) as cluster:
        cluster.client.wait_for_workers(1, timeout=30)
        assert cluster.client.scheduler_info()["address"].startswith("inproc://")
        assert listening() == before
    assert cluster.dashboard == "off (enable it with --dashboard)"


def test_a_dashboard_is_served_when_asked_for(tmp_path: Path) -> None:
    with open_cluster(Profile(backend="threads", jobs=1, dashboard=True), tmp_path) as cluster:
        assert cluster.dashboard.startswith("http://127.0.0.1:")
        with urlopen(cluster.dashboard) as answer:
            assert answer.status == 200
