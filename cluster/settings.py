"""Define the settings of Dask and the environment variables of workers, which are the same for all backends."""

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile

NO_HTTP = "kernel_pipeline.cluster.no_http"
"""Module that schedulers and workers preload, so that they have no HTTP server."""
ENVIRONMENT = {
    # One BLAS thread per worker: with two, on a loaded machine, the same work took ten times as long.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Limit the memory that the allocator keeps after a task to what the plan assumes. Keeping nothing would make fits
    # 50 % slower, since the system would have to provide the same pages again.
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_ARENA_MAX": "2",  # otherwise each thread that decodes chunks keeps its own arena
    "PYTHONSAFEPATH": "1",  # modules in the working directory do not shadow installed ones
}
WORKER_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    # Results are written to the store, so there is nothing to spill to disk.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.preload": NO_HTTP,
}
SCHEDULER_SETTINGS = {
    # The driver counts lost workers itself, to distinguish a task that kills its worker from tasks that were only
    # queued on that worker.
    "distributed.scheduler.allowed-failures": 0,
    # A task that uses the memory of all workers holds a lock; if its worker dies, the next task gets the lock soon.
    "distributed.scheduler.locks.lease-timeout": "10s",
    "distributed.scheduler.locks.lease-validation-interval": "1s",
}
LOOPBACK_DASHBOARD = "127.0.0.1:0"
NO_DASHBOARD = "off (enable it with --dashboard)"


def own_settings(profile: Profile) -> dict[str, object]:
    """Return the settings of Dask for a scheduler and workers that this package starts."""
    return (
        WORKER_SETTINGS | SCHEDULER_SETTINGS | {"distributed.scheduler.preload": [] if profile.dashboard else NO_HTTP}
    )


def scheduler_options(profile: Profile) -> dict[str, object]:
    """Return the options of a scheduler on this host.

    Without a dashboard, its library is not imported, which saves one second.
    """
    return {"dashboard_address": LOOPBACK_DASHBOARD, "dashboard": profile.dashboard}


def dashboard_on_loopback(profile: Profile, link: str) -> str:
    """Return the address of the dashboard on this host, given Dask's link, or the option that enables it."""
    if not profile.dashboard:
        return NO_DASHBOARD
    port = link.rpartition(":")[2].partition("/")[0]
    return f"http://127.0.0.1:{port}/status"


def check_interface(name: str | None) -> None:
    """Check that the driver's host has a network interface.

    Raises
    ------
    ProfileError
        If there is no such interface.
    """
    import psutil

    if name and name not in (known := psutil.net_if_addrs()):
        raise ProfileError(
            f"interface = {name!r}: this host has no such interface. Available: {', '.join(sorted(known))}"
        )
