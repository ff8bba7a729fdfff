"""Run workers in pods that the Dask operator of a Kubernetes cluster starts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import Field

from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import ENVIRONMENT


class KubernetesProfile(Profile):
    """Profile of a Kubernetes cluster, with the container image of its pods."""

    backend: str = Field("kubernetes", description="the kind of cluster")
    image: str | None = Field(None, description="container image in which this package is installed")
    namespace: str | None = Field(None, description="Kubernetes namespace")


@register("kubernetes")
class Kubernetes(Backend[KubernetesProfile]):
    """Workers in pods."""

    KEYS = frozenset({"jobs", "adapt", "cores", "memory"})
    REQUIRED_KEYS = frozenset({"memory", "image"})
    PROFILE = KubernetesProfile
    EXTRA = "kubernetes"

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the limits that the profile states."""
        self._operator()  # a missing library is reported before anything is written
        return self.profile.max_workers, self.profile.worker_memory

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Request a cluster from the operator; it is removed at the end."""
        from distributed import Client

        profile, operator = self.profile, self._operator()
        with ExitStack() as stack:
            try:
                started = stack.enter_context(operator.KubeCluster(**self.request(), shutdown_on_close=True))
                client = stack.enter_context(Client(started))
                if profile.adapt:
                    started.adapt(*profile.adapt)
            except Exception as error:  # the operator, its client and the network raise many types
                raise ClusterError(
                    f"Kubernetes did not start a cluster: {error}. `kubectl get daskclusters` may show why"
                ) from None
            yield Cluster(
                client=client,
                max_workers=profile.max_workers,
                dashboard=started.dashboard_link,
                replace_lost=(lambda: None) if profile.adapt else partial(started.scale, profile.max_jobs),
                pending_reason=lambda: f"no pod of {profile.image} is running yet; `kubectl get pods` shows why",
            )

    def request(self) -> dict[str, Any]:
        """Return the options of the cluster that is requested from the operator."""
        profile = self.profile
        resources = {"cpu": str(profile.cores), "memory": str(profile.job_memory)}
        return {
            "image": profile.image,
            "namespace": profile.namespace,
            "n_workers": profile.adapt[0] if profile.adapt else profile.max_jobs,
            "resources": {"requests": resources, "limits": resources},
            "env": ENVIRONMENT,
            "worker_command": ["dask", "worker", "--nworkers", str(profile.cores), "--nthreads", "1"],
        }

    def _operator(self) -> ModuleType:
        return self.library("dask_kubernetes.operator")
