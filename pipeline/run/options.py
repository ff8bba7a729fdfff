"""Define the options of a run, and open the cluster that they choose."""

import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kernel_pipeline.cluster import Cluster, check_driver, is_local, open_cluster, warm_up, worker_limits
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.worker_modules import worker_modules

if TYPE_CHECKING:
    from distributed import Client

LOCAL = Profile()


@dataclass(frozen=True)
class Options:
    """How to execute a run. No option changes a result."""

    profile: Profile = LOCAL
    verify: Literal["quick", "full"] = "quick"
    fail_fast: bool = False
    retry_failed: bool = False
    accept_changes: bool = False
    skip_too_large: bool = False
    """Whether to leave out datasets that are too large for the workers or the disk, instead of raising an error."""
    client: "Client | None" = None
    """Client of the caller, used instead of `profile`."""
    end_process: Callable[[], None] | None = None
    """Ends the process if it belongs to the run, as that of a command does: see `Interrupt`."""


def prepare_workers(options: Options, config: Config) -> None:
    """Start to import the modules of a sweep for future workers, if the cluster supports this."""
    if options.client is None:
        warm_up(options.profile, worker_modules(config))


def check_host(options: Options, logs: Path) -> None:
    """Reject a cluster that a driver on this host could not use, before anything is written."""
    if options.client is None:
        check_driver(options.profile, logs)


def workers_and_memory(options: Options) -> tuple[int, int | None]:
    """Return the number of workers, and the memory that each of them may use; None if it is not known."""
    if options.client is None:
        return worker_limits(options.profile)
    from kernel_pipeline.cluster.client import client_limits

    return client_limits(options.client)


def check_memory(plan: Plan, options: Options) -> None:
    """Reject a sweep whose largest task does not fit in the memory of a worker, if that is known."""
    count, limit = workers_and_memory(options)
    if limit is not None:  # otherwise workers that run out of memory are reported during the run
        plan.check_memory(limit, count)


def temporary_folder(options: Options) -> tuple[int, str] | None:
    """Return the free space and the name of the folder for temporary files; None if workers run on other machines."""
    if options.client is not None or not is_local(options.profile):
        return None
    folder = tempfile.gettempdir()
    return shutil.disk_usage(folder).free, folder


def check_temporary_files(plan: Plan, options: Options) -> None:
    """Reject a sweep whose temporary files do not fit on the disk of this machine, if all workers run here."""
    if (folder := temporary_folder(options)) is not None:
        plan.check_temporary_files(*folder, *workers_and_memory(options))


def open_workers(options: Options, logs: Path) -> AbstractContextManager[Cluster]:
    """Open the cluster that the options choose; a client of the caller takes precedence."""
    if options.client is None:
        return open_cluster(options.profile, logs)
    from kernel_pipeline.cluster.client import use_client

    return use_client(options.client)
