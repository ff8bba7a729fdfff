"""Run in the processes that MPI started: the first is the scheduler, the second the driver, all others are workers.

`mpirun -n 10 pipeline run CONFIG --cluster mpi` has eight workers. When one process dies, MPI ends all of them; running
the same command again resumes the run. All connections are encrypted, with certificates that the first process creates
and sends to the others by MPI.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.certificates import ROLES, new_certificates
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import (
    ENVIRONMENT,
    LOOPBACK_DASHBOARD,
    NO_DASHBOARD,
    check_interface,
    own_settings,
)

NON_WORKERS = 2
"""Number of processes that are not workers: the scheduler and the driver."""


@register("mpi")
class MPI(Backend[Profile]):
    """The processes that MPI started."""

    KEYS = frozenset({"interface", "insecure", "dashboard"})
    EXTRA = "mpi"

    def assume_role(self) -> None:
        """Run the scheduler or a worker in this process, depending on its MPI rank; only the driver returns."""
        count = self._process_count()
        if count <= NON_WORKERS:
            raise ProfileError(
                f"--cluster mpi needs at least {NON_WORKERS + 1} processes (a scheduler, the driver and a worker), and "
                f"was started with {count}. Begin the command with `mpirun -n 4`"
            )
        check_interface(self.profile.interface)
        import dask
        from dask_mpi import initialize
        from distributed.utils import silence_logging_cmgr

        os.environ.update(ENVIRONMENT)
        dask.config.set(own_settings(self.profile) | ({} if self.profile.insecure else _shared_certificates()))
        with silence_logging_cmgr(logging.CRITICAL):  # all processes share one terminal; only the driver reports
            initialize(
                interface=self.profile.interface,
                nthreads=1,
                dashboard_address=LOOPBACK_DASHBOARD,
                worker_options={"dashboard_address": LOOPBACK_DASHBOARD},
                protocol="tcp" if self.profile.insecure else "tls",
            )

    def worker_limits(self) -> tuple[int, int]:
        """Return the number of workers and the memory per core of this host, which all hosts are assumed to have."""
        from dask.system import CPU_COUNT
        from distributed.system import MEMORY_LIMIT

        return max(1, self._process_count() - NON_WORKERS), int(MEMORY_LIMIT) // CPU_COUNT

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Connect to the scheduler among the processes."""
        from distributed import Client

        with Client() as client:  # `assume_role` has stored the address in the settings of Dask
            dashboard = client.dashboard_link if self.profile.dashboard else NO_DASHBOARD
            yield Cluster(client=client, max_workers=self.worker_limits()[0], dashboard=dashboard)

    def _process_count(self) -> int:
        """Return the number of processes; 1 if the command was not started by MPI."""
        self.library("dask_mpi")
        return int(self.library("mpi4py.MPI").COMM_WORLD.Get_size())


def _shared_certificates() -> dict[str, object]:
    """Return settings of Dask with certificates that all processes share."""
    from mpi4py import MPI as library  # noqa: N811

    made = new_certificates() if library.COMM_WORLD.Get_rank() == 0 else None
    shared: dict[str, str] = library.COMM_WORLD.bcast(made, root=0)
    own = {f"distributed.comm.tls.{role}.{name}": shared[name] for role in ROLES for name in ("cert", "key")}
    return {"distributed.comm.require-encryption": True, "distributed.comm.tls.ca-file": shared["ca_file"], **own}
