"""Workers in pods, by the Dask operator of a Kubernetes cluster."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError, missing_extra
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import ENVIRONMENT


def worker_limits(profile: Profile) -> tuple[int, int | None]:
    """As the profile says."""
    _library()  # refused before anything is written
    return profile.most_jobs * profile.cores, profile.worker_memory


def request(profile: Profile) -> dict[str, Any]:
    """What the operator is asked for."""
    resources = {"cpu": str(profile.cores), "memory": str(profile.job_memory)}
    return {
        "image": profile.image,
        "namespace": profile.namespace,
        "n_workers": profile.adapt[0] if profile.adapt else profile.most_jobs,
        "resources": {"requests": resources, "limits": resources},
        "env": ENVIRONMENT,
        "worker_command": ["dask", "worker", "--nworkers", str(profile.cores), "--nthreads", "1"],
    }


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Ask the operator for a cluster; it is removed at the end."""
    from distributed import Client

    library = _library()
    with ExitStack() as stack:
        try:
            started = stack.enter_context(library.KubeCluster(**request(profile), shutdown_on_close=True))
            client = stack.enter_context(Client(started))
            if profile.adapt:
                started.adapt(*profile.adapt)
        except Exception as error:  # of the operator, of its client, of the way there: none is ours
            raise ClusterError(
                f"Kubernetes gives no cluster: {error}. `kubectl get daskclusters` may say more"
            ) from None
        yield Cluster(
            client=client,
            workers=profile.most_jobs * profile.cores,
            dashboard=started.dashboard_link,
            mend=(lambda: None) if profile.adapt else partial(started.scale, profile.most_jobs),
            waiting=lambda: f"no pod of {profile.image} runs yet; `kubectl get pods` says why",
        )


def _library() -> ModuleType:
    try:
        from dask_kubernetes import operator
    except ImportError:
        raise missing_extra("kubernetes", "kubernetes") from None
    return operator  # type: ignore[no-any-return]
