"""Workers in the jobs of a batch system, by dask-jobqueue: Slurm, PBS, LSF, SGE, HTCondor.

The driver holds the scheduler. Between it and its workers everything is encrypted, with certificates made for this run.
"""

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.batch import check_path
from kernel_pipeline.cluster.certificates import CERTIFICATES, fresh_certificates, security_of
from kernel_pipeline.cluster.errors import missing_extra
from kernel_pipeline.cluster.job_supervision import Jobs, patient
from kernel_pipeline.cluster.profile import Profile, margin, seconds
from kernel_pipeline.cluster.settings import (
    ENVIRONMENT,
    LOOPBACK_DASHBOARD,
    NO_HTTP,
    check_interface,
    dashboard_on_loopback,
    own_settings,
)

CLASSES = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "lsf": "LSFCluster",
    "sge": "SGECluster",
    "htcondor": "HTCondorCluster",
}
ACCOUNTS = {"slurm": "account", "pbs": "account", "lsf": "project", "sge": "project"}
"""What the queue calls who is charged."""
SECONDS_TO_FIND_THE_DRIVER = 120
# The same as WORKER_SETTINGS, for processes that other processes start.
EXPORTS = ENVIRONMENT | {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__WORKER__PRELOAD": NO_HTTP,
}


def worker_limits(profile: Profile) -> tuple[int, int | None]:
    """As the profile says."""
    _kind(profile)  # refused before anything is written
    return profile.most_jobs * profile.cores, profile.worker_memory


def check_driver(profile: Profile, logs: Path) -> None:
    """A job script has to name the folder of the logs, and this host to have the network interface."""
    check_path(logs)
    check_interface(profile.interface)


@contextmanager
def open_workers(profile: Profile, logs: Path) -> Iterator[Cluster]:
    """Start a scheduler, and ask the queue for workers; at the end all jobs are cancelled."""
    import dask
    from distributed import Client

    kind = _kind(profile)
    with ExitStack() as stack:
        stack.enter_context(dask.config.set(own_settings(profile)))
        started = stack.enter_context(
            kind(
                job_cls=patient(kind.job_cls),
                **job_options(profile, logs),
                security=None if profile.insecure else stack.enter_context(fresh_certificates(logs)),
                scheduler_options={"dashboard_address": LOOPBACK_DASHBOARD},
                interface=profile.interface,
            )
        )
        client = stack.enter_context(Client(started))
        jobs = Jobs(started, client, profile)
        jobs.ask()
        yield Cluster(
            client=client,
            workers=profile.most_jobs * profile.cores,
            dashboard=_dashboard(profile, started.dashboard_link),
            mend=jobs.mend,
            waiting=jobs.waiting,
        )


def job_script(profile: Profile, logs: Path) -> str:
    """The script of a job, exact but for the address, the name and the folder that a run chooses."""
    check_path(logs)
    with tempfile.TemporaryDirectory() as stand_in:  # dask-jobqueue makes the folder of the logs
        security = security_of(Path(stand_in) / f"{CERTIFICATES}RANDOM")
        job = _kind(profile).job_cls(
            f"{'tcp' if profile.insecure else 'tls'}://DRIVER:PORT",
            name="NAME",
            security=None if profile.insecure else security,
            protocol=None if profile.insecure else "tls://",
            interface=profile.interface,
            **job_options(profile, Path(stand_in)),
        )
        return str(job.job_script()).replace(stand_in, str(logs.absolute()))


def job_options(profile: Profile, logs: Path) -> dict[str, Any]:
    """What dask-jobqueue is told of a job."""
    # Even without a dashboard a worker answers by http, which need not be heard elsewhere.
    arguments = ["--no-dashboard", "--dashboard-address", LOOPBACK_DASHBOARD]
    if profile.walltime:
        # Workers leave before the queue ends them, and not all at once, so that others can take over.
        left = margin(profile.walltime)
        arguments += [
            "--lifetime",
            f"{seconds(profile.walltime) - left:.0f}s",
            "--lifetime-stagger",
            f"{left / 2:.0f}s",
        ]
    options: dict[str, Any] = {
        "cores": profile.cores,
        "processes": profile.cores,
        "memory": profile.memory,
        "python": shlex.quote(profile.python or sys.executable),
        "job_name": "pipeline-worker",
        "log_directory": str(logs.absolute()),
        "local_directory": profile.scratch,
        "death_timeout": SECONDS_TO_FIND_THE_DRIVER,
        "worker_extra_args": arguments,
        "job_script_prologue": [*profile.setup, *(f"export {key}={value}" for key, value in EXPORTS.items())],
        "job_extra_directives": profile.directives,
    }
    if profile.backend == "htcondor":
        pairs = (directive.partition("=") for directive in profile.directives)
        directives = {key.strip(): value.strip() for key, _, value in pairs}
        return options | {"job_extra_directives": directives, "disk": "1 GiB"}
    walltime = profile.walltime
    if profile.backend == "lsf" and walltime:
        walltime = walltime.rpartition(":")[0]
    return options | {"queue": profile.queue, ACCOUNTS[profile.backend]: profile.account, "walltime": walltime}


def _kind(profile: Profile) -> Any:
    try:
        import dask_jobqueue
    except ImportError:
        raise missing_extra(profile.backend, "hpc") from None
    return getattr(dask_jobqueue, CLASSES[profile.backend])


def _dashboard(profile: Profile, link: str) -> str:
    """The link, and how to reach it from a desk: it is served to the driver's own host only."""
    import socket

    served = dashboard_on_loopback(profile, link)
    if not profile.dashboard:
        return served
    place = served.removeprefix("http://").partition("/")[0]
    return f"{served} (from your desk: ssh -L {place.partition(':')[2]}:{place} {socket.gethostname()})"
