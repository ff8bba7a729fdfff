"""What the Dask operator is asked for; there is no Kubernetes at hand."""

from typing import Any

import pytest

from kernel_pipeline.cluster.kubernetes import request
from kernel_pipeline.cluster.settings import ENVIRONMENT
from kernel_pipeline.config.profiles import parse_profile

PODS: dict[str, Any] = {"backend": "kubernetes", "image": "mine:1", "namespace": "me", "cores": 2, "memory": "8 GiB"}


@pytest.mark.parametrize(("scale", "pods"), [({}, 1), ({"jobs": 3}, 3), ({"adapt": [2, 9]}, 2)])
def test_pods_have_the_image_the_resources_and_a_process_a_core(scale: dict[str, Any], pods: int) -> None:
    asked = request(parse_profile(PODS | scale, "a test"))
    resources = {"cpu": "2", "memory": str(8 << 30)}
    assert asked == {
        "image": "mine:1",
        "namespace": "me",
        "n_workers": pods,
        "resources": {"requests": resources, "limits": resources},
        "env": ENVIRONMENT,
        "worker_command": ["dask", "worker", "--nworkers", "2", "--nthreads", "1"],
    }
