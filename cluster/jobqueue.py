"""Define the base class of the backends that run workers in jobs of a batch system, with dask-jobqueue.

The scheduler runs in the process of the driver. All connections between it and the workers are encrypted, with
certificates that are created for the run.
"""

import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from kernel_pipeline.cluster.backend import Backend, Cluster
from kernel_pipeline.cluster.certificates import CERTIFICATES, fresh_certificates, security_of
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.quantities import handover_seconds, walltime_seconds
from kernel_pipeline.cluster.settings import (
    ENVIRONMENT,
    LOOPBACK_DASHBOARD,
    NO_HTTP,
    check_interface,
    dashboard_on_loopback,
    own_settings,
    scheduler_options,
)

WORKER_START_TIMEOUT_S = 120
"""Time after which a worker that cannot reach the driver ends its job."""
# The same as WORKER_SETTINGS, as environment variables for workers that the batch system starts.
EXPORTS = ENVIRONMENT | {
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
    "DASK_DISTRIBUTED__WORKER__PRELOAD": NO_HTTP,
}

P = TypeVar("P", bound=Profile)


class JobQueue(Backend[P]):
    """A batch system; a subclass states its commands and options."""

    KEYS = frozenset(
        {
            "adapt",
            "cores",
            "dashboard",
            "directives",
            "insecure",
            "interface",
            "jobs",
            "memory",
            "python",
            "scratch",
            "setup",
        }
    )
    REQUIRED_KEYS = frozenset({"memory"})
    EXTRA = "hpc"
    TITLE: ClassVar[str]
    """Name of the batch system in messages."""
    CLUSTER_CLASS: ClassVar[str]
    """Name of its class in dask-jobqueue."""
    LIST_JOBS: ClassVar[tuple[str, ...]]
    """Command that lists jobs, one per line, each beginning with the job ID."""

    def check_driver(self, logs: Path) -> None:
        """Check that a job script can contain the path of the logs, and that the network interface exists."""
        check_path(logs)
        check_interface(self.profile.interface)

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the limits that the profile states."""
        self._cluster_class()  # a missing library is reported before anything is written
        return self.profile.max_workers, self.profile.worker_memory

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Start a scheduler and submit jobs for the workers; all jobs are cancelled at the end."""
        import dask
        from distributed import Client

        from kernel_pipeline.cluster.job_supervision import Jobs, recording_rejections

        profile, kind = self.profile, self._cluster_class()
        with ExitStack() as stack:
            stack.enter_context(dask.config.set(own_settings(profile)))
            started = stack.enter_context(
                kind(
                    job_cls=recording_rejections(kind.job_cls),
                    **self._job_options(logs),
                    security=None if profile.insecure else stack.enter_context(fresh_certificates(logs)),
                    scheduler_options=scheduler_options(profile),
                    interface=profile.interface,
                )
            )
            client = stack.enter_context(Client(started))
            jobs = Jobs(started, client, profile, self.TITLE, self.LIST_JOBS)
            jobs.submit()
            yield Cluster(
                client=client,
                max_workers=profile.max_workers,
                dashboard=_dashboard(profile, started.dashboard_link),
                replace_lost=jobs.replace_lost,
                pending_reason=jobs.pending_reason,
            )

    def job_script(self, logs: Path) -> str:
        """Return the script of a job, with placeholders for driver, worker and the directory of the certificates."""
        check_path(logs)
        profile = self.profile
        with tempfile.TemporaryDirectory() as placeholder:  # dask-jobqueue creates the directory of the logs
            security = security_of(Path(placeholder) / f"{CERTIFICATES}RANDOM")
            job = self._cluster_class().job_cls(
                f"{'tcp' if profile.insecure else 'tls'}://DRIVER:PORT",
                name="NAME",
                security=None if profile.insecure else security,
                protocol=None if profile.insecure else "tls://",
                interface=profile.interface,
                **self._job_options(Path(placeholder)),
            )
            return str(job.job_script()).replace(placeholder, str(logs.absolute()))

    def _queue_options(self) -> dict[str, Any]:
        """Return the options of dask-jobqueue that differ between batch systems."""
        return {}

    def _job_options(self, logs: Path) -> dict[str, Any]:
        """Return the options of dask-jobqueue that describe a job."""
        profile = self.profile
        options: dict[str, Any] = {
            "cores": profile.cores,
            "processes": profile.cores,
            "memory": profile.memory,
            "python": shlex.quote(profile.python or sys.executable),
            "job_name": "pipeline-worker",
            "log_directory": str(logs.absolute()),
            "local_directory": profile.scratch,
            "death_timeout": WORKER_START_TIMEOUT_S,
            "worker_extra_args": _worker_arguments(profile.walltime),
            "job_script_prologue": [*profile.setup, *(f"export {key}={value}" for key, value in EXPORTS.items())],
            "job_extra_directives": profile.directives,
        }
        return options | self._queue_options()

    def _cluster_class(self) -> Any:
        return getattr(self.library("dask_jobqueue"), self.CLUSTER_CLASS)


class TimedJobQueue(JobQueue[P]):
    """A batch system whose jobs have a wall time, a queue and an account."""

    KEYS = JobQueue.KEYS | {"walltime", "queue", "account"}
    # Without a wall time the queue would apply its own, and workers could not hand over their work in time.
    REQUIRED_KEYS = JobQueue.REQUIRED_KEYS | {"walltime"}
    ACCOUNT: ClassVar[str] = "account"
    """Name of the option of dask-jobqueue for the account that is charged."""

    def _queue_options(self) -> dict[str, Any]:
        profile = self.profile
        return {"queue": profile.queue, self.ACCOUNT: profile.account, "walltime": profile.walltime}


def check_path(logs: Path) -> None:
    """Check that scripts and directives of a queue can contain the path of the logs without quotes.

    Raises
    ------
    ProfileError
        If the path contains characters that need quotes.
    """
    path = str(logs.absolute())
    if shlex.quote(path) != path or "%" in path:
        raise ProfileError(
            "the path of the logs is part of job scripts, and may contain ASCII letters, digits and @+=:,./_- only; "
            f"got {path}. Choose another directory with --out"
        )


def _worker_arguments(walltime: str | None) -> list[str]:
    # Even without a dashboard, a worker starts an HTTP server, which should be reachable only from its own host.
    arguments = ["--no-dashboard", "--dashboard-address", LOOPBACK_DASHBOARD]
    if walltime:
        # Workers end before the queue ends them, at different times, so that others can take over their work.
        margin = handover_seconds(walltime)
        lifetime = walltime_seconds(walltime) - margin
        arguments += ["--lifetime", f"{lifetime:.0f}s", "--lifetime-stagger", f"{margin / 2:.0f}s"]
    return arguments


def _dashboard(profile: Profile, link: str) -> str:
    """Return the link to the dashboard, which only the driver's host serves, and the command that forwards it."""
    import socket

    served = dashboard_on_loopback(profile, link)
    if not profile.dashboard:
        return served
    address = served.removeprefix("http://").partition("/")[0]
    return f"{served} (from your own computer: ssh -L {address.partition(':')[2]}:{address} {socket.gethostname()})"
