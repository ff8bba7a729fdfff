"""Start a cluster through a Dask Gateway, which decides where it runs and encrypts its connections."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from pydantic import Field

from kernel_pipeline.cluster.address import is_loopback
from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.errors import ClusterError, ProfileError
from kernel_pipeline.cluster.profile import Profile


class GatewayProfile(Profile):
    """Profile of a Dask Gateway, with its cluster options."""

    backend: str = Field("gateway", description="the kind of cluster")
    options: dict[str, str | int | float | bool] = Field({}, description="cluster options that the gateway offers")


@register("gateway")
class Gateway(Backend[GatewayProfile]):
    """A cluster that a Dask Gateway starts."""

    KEYS = frozenset({"jobs", "adapt", "memory", "address", "insecure"})
    PROFILE = GatewayProfile
    EXTRA = "gateway"

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the limits that the profile states, since the gateway reports none before workers run."""
        self._check_encrypted()  # before anything is written
        return self.profile.max_jobs, self.profile.worker_memory

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Request a cluster from the gateway; it is shut down at the end."""
        profile, library = self.profile, self._library()
        from distributed.utils import LoopRunner

        # dask-gateway closes itself again when it is garbage-collected, and warns if its loop has ended by then.
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
                    started.scale(profile.max_jobs)
            except Exception as error:  # the gateway, its client and the network raise many types
                where = profile.address or "of your Dask settings"
                raise ClusterError(
                    f"the gateway {where} did not start a cluster: {error}. Check the address and the options in "
                    "the profile"
                ) from None
            yield Cluster(
                client=client,
                max_workers=profile.max_jobs,
                dashboard=started.dashboard_link or "none",
                replace_lost=(lambda: None) if profile.adapt else partial(started.scale, profile.max_jobs),
                pending_reason=lambda: f"the gateway has not started workers of the cluster {started.name} yet",
            )

    def _check_encrypted(self) -> None:
        """Reject an unencrypted address, through which others could read the login and the keys of the cluster."""
        import dask

        self._library()  # importing it loads its settings
        address = str(self.profile.address or dask.config.get("gateway.address", None) or "")
        parts = urlsplit(address)
        if parts.scheme == "http" and not is_loopback(parts.hostname or "") and not self.profile.insecure:
            raise ProfileError(
                f"the gateway {address} is on another host, and http:// is not encrypted: others could read your "
                "login and the keys of the cluster. Use its https:// address, or add --insecure in a network that you "
                "trust"
            )

    def _library(self) -> ModuleType:
        return self.library("dask_gateway")
