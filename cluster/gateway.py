"""A cluster that a Dask Gateway starts for us. The gateway decides where, and encrypts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.address import is_loopback
from kernel_pipeline.cluster.errors import ClusterError, ProfileError, missing_extra
from kernel_pipeline.cluster.profile import Profile


def worker_limits(profile: Profile) -> tuple[int, int | None]:
    """As the profile says: the gateway tells nothing before workers are there."""
    _check_encrypted(profile)  # refused before anything is written
    return profile.most_jobs, profile.worker_memory


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Ask the gateway for a cluster; it is shut down at the end."""
    library = _library()
    from distributed.utils import LoopRunner

    # dask-gateway closes itself once more when it is forgotten, and complains if its loop has ended by then.
    runner = LoopRunner()
    runner.start()
    with ExitStack() as stack:
        try:
            gateway = stack.enter_context(library.Gateway(profile.address, loop=runner.loop))
            started = stack.enter_context(gateway.new_cluster(shutdown_on_close=True, **profile.options))
            client = stack.enter_context(started.get_client())
            if profile.adapt:
                started.adapt(*profile.adapt)
            else:
                started.scale(profile.most_jobs)
        except Exception as error:  # of the gateway, of its client, of the way there: none is ours
            where = profile.address or "of your Dask settings"
            raise ClusterError(f"the gateway {where} gives no cluster: {error}") from None
        yield Cluster(
            client=client,
            workers=profile.most_jobs,
            dashboard=started.dashboard_link or "none",
            mend=(lambda: None) if profile.adapt else partial(started.scale, profile.most_jobs),
            waiting=lambda: f"the gateway has not started workers of the cluster {started.name} yet",
        )


def _check_encrypted(profile: Profile) -> None:
    """Refuse to log in, and to be told the keys of a cluster, where others may listen."""
    import dask

    _library()  # whose settings are read, too
    address = str(profile.address or dask.config.get("gateway.address", None) or "")
    parts = urlsplit(address)
    if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not profile.insecure:
        raise ProfileError(
            f"the gateway {address} is another host, and http:// is not encrypted: your login and the keys of the "
            "cluster could be read. Give its https:// address, or add --insecure in a network that you trust"
        )


def _library() -> ModuleType:
    try:
        import dask_gateway
    except ImportError:
        raise missing_extra("gateway", "gateway") from None
    return dask_gateway  # type: ignore[no-any-return]
