"""What holds for workers wherever they run."""

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile

NO_HTTP = "kernel_pipeline.cluster.no_http"
"""The module that schedulers and workers load to have no HTTP server."""
ENVIRONMENT = {
    # One BLAS thread a worker: with two on a loaded machine the same work took ten times as long.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Of what a task frees, at most so much is kept, so that the next one starts where the plan says; keeping
    # nothing would make fits take half as long again, for the system to hand out the same pages anew.
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_ARENA_MAX": "2",  # else each thread that decodes chunks keeps its own
    "PYTHONSAFEPATH": "1",  # no module of the working directory stands in for one of ours
}
WORKER_SETTINGS = {
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    # Results go to the store, so a worker holds nothing that is worth spilling.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.preload": NO_HTTP,
}
SCHEDULER_SETTINGS = {
    # The driver counts the deaths of workers itself, so that it can tell the task that kills from those that wait.
    "distributed.scheduler.allowed-failures": 0,
}
LOOPBACK_DASHBOARD = "127.0.0.1:0"
NO_DASHBOARD = "off (--dashboard serves one)"


def own_settings(profile: Profile) -> dict[str, object]:
    """Dask's settings for a scheduler and workers that we start."""
    return (
        WORKER_SETTINGS | SCHEDULER_SETTINGS | {"distributed.scheduler.preload": [] if profile.dashboard else NO_HTTP}
    )


def dashboard_on_loopback(profile: Profile, link: str) -> str:
    """What a run says of its dashboard: Dask's link, with the address that it is served at."""
    if not profile.dashboard:
        return NO_DASHBOARD
    port = link.rpartition(":")[2].partition("/")[0]
    return f"http://127.0.0.1:{port}/status"


def check_interface(name: str | None) -> None:
    """Refuse a network interface that the host of the driver does not have."""
    import psutil

    if name and name not in (known := psutil.net_if_addrs()):
        raise ProfileError(f"interface = {name!r}: this host has none of that name, but {', '.join(sorted(known))}")
