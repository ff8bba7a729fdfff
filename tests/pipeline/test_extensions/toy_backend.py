"""A cluster backend in one file: a local cluster of threads, with its own field in the profile."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from distributed import Client, LocalCluster
from pydantic import Field

from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD


class ToyProfile(Profile):
    """A profile with a label."""

    backend: str = Field("toy")
    label: str = Field(description="printed in place of the address of a dashboard")


@register("toy")
class Toy(Backend[ToyProfile]):
    """Workers that are threads of the driver."""

    KEYS = frozenset({"jobs"})
    REQUIRED_KEYS = frozenset({"jobs"})
    PROFILE = ToyProfile
    PAUSES_WORKERS = False

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the limits that the profile states."""
        return self.profile.max_jobs, None

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Start the workers."""
        count = self.profile.max_jobs
        with (
            LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,
                dashboard_address=LOOPBACK_DASHBOARD,
            ) as started,
            Client(started) as client,
        ):
            yield Cluster(client=client, max_workers=count, dashboard=f"none for {self.profile.label}")
