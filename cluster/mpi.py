"""The processes that MPI started: the first is the scheduler, the second the driver, all others are workers.

`mpirun -n 10 pipeline run CONFIG --cluster mpi` has eight workers. Where one process dies, MPI ends them all; the same
command goes on. What they say to each other is encrypted, with certificates that the first process makes and MPI tells
the others.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.certificates import ROLES, new_certificates
from kernel_pipeline.cluster.errors import ProfileError, missing_extra
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import (
    ENVIRONMENT,
    LOOPBACK_DASHBOARD,
    NO_DASHBOARD,
    check_interface,
    own_settings,
)

BESIDES_WORKERS = 2


def join(profile: Profile) -> None:
    """Become what this process is to be. Only the driver returns."""
    count = _processes()
    if count <= BESIDES_WORKERS:
        raise ProfileError(
            f"--cluster mpi needs {BESIDES_WORKERS + 1} processes at least, and has {count}: a scheduler, the driver "
            "and a worker. Begin the command with `mpirun -n 4`"
        )
    check_interface(profile.interface)
    import dask
    from dask_mpi import initialize
    from distributed.utils import silence_logging_cmgr

    os.environ.update(ENVIRONMENT)
    dask.config.set(own_settings(profile) | ({} if profile.insecure else _shared_certificates()))
    with silence_logging_cmgr(logging.CRITICAL):  # all processes share one terminal, and only the driver has to talk
        initialize(
            interface=profile.interface,
            nthreads=1,
            dashboard_address=LOOPBACK_DASHBOARD,
            worker_options={"dashboard_address": LOOPBACK_DASHBOARD},
            protocol="tcp" if profile.insecure else "tls",
        )


def worker_limits(_profile: Profile) -> tuple[int, int]:
    """Workers, and the share of a core in the memory of this host; hosts are taken to be alike."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    return max(1, _processes() - BESIDES_WORKERS), int(MEMORY_LIMIT) // CPU_COUNT


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Connect to the scheduler among the processes."""
    from distributed import Client

    with Client() as client:  # `join` has left its address in Dask's settings
        dashboard = client.dashboard_link if profile.dashboard else NO_DASHBOARD
        yield Cluster(client=client, workers=worker_limits(profile)[0], dashboard=dashboard)


def _shared_certificates() -> dict[str, object]:
    """Settings of Dask with certificates that all processes share."""
    from mpi4py import MPI

    made = new_certificates() if MPI.COMM_WORLD.Get_rank() == 0 else None
    told: dict[str, str] = MPI.COMM_WORLD.bcast(made, root=0)
    own = {f"distributed.comm.tls.{role}.{name}": told[name] for role in ROLES for name in ("cert", "key")}
    return {"distributed.comm.require-encryption": True, "distributed.comm.tls.ca-file": told["ca_file"], **own}


def _processes() -> int:
    """How many processes there are; one, where MPI started none."""
    try:
        import dask_mpi  # noqa: F401
        from mpi4py import MPI
    except ImportError:
        raise missing_extra("mpi", "mpi") from None
    return int(MPI.COMM_WORLD.Get_size())
