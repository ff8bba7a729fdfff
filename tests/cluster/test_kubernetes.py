"""The request to the Dask operator, tested without Kubernetes."""

from typing import Any

import pytest

from kernel_pipeline.cluster.kubernetes import Kubernetes
from kernel_pipeline.cluster.settings import ENVIRONMENT
from kernel_pipeline.config.profiles import parse_profile

PODS: dict[str, Any] = {"backend": "kubernetes", "image": "mine:1", "namespace": "me", "cores": 2, "memory": "8 GiB"}


@pytest.mark.parametrize(("scale", "pods"), [({}, 1), ({"jobs": 3}, 3), ({"adapt": [2, 9]}, 2)])
def test_pods_have_the_image_the_resources_and_one_process_per_core(scale: dict[str, Any], pods: int) -> None:
    profile = parse_profile(PODS | scale, "a test")
    assert isinstance(profile.implementation, Kubernetes)
    asked = profile.implementation.request()
    resources = {"cpu": "2", "memory": str(8 << 30)}
    assert asked == {
        "image": "mine:1",
        "namespace": "me",
        "n_workers": pods,
        "resources": {"requests": resources, "limits": resources},
        "env": ENVIRONMENT,
        "worker_command": ["dask", "worker", "--nworkers", "2", "--nthreads", "1"],
    }
