"""The protocol of cluster backends and their registry.

A backend is one file: a subclass of `Backend`, registered under the name that profiles give as `backend`. It states
which keys of a profile it uses (`TAKES`), which of them are required (`NEEDS`) and which optional dependency of this
package it needs (`EXTRA`). Keys that no other backend has are fields of its own subclass of `Profile` (`PROFILE`).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:
    from distributed import Client

    from kernel_pipeline.cluster.profile import Profile

P = TypeVar("P", bound="Profile")


@dataclass(frozen=True)
class Cluster:
    """A scheduler with a connected client; its workers may still be starting."""

    client: "Client"
    workers: int
    """Maximum number of workers."""
    dashboard: str
    """Address of the dashboard, or a text that says why there is none."""
    replace_lost: Callable[[], object] = lambda: None
    """Requests new workers in place of those that were lost."""
    pending_reason: Callable[[], str] | None = None
    """Describes what the missing workers are waiting for, where that may take hours; None where they start at once."""
    is_external: bool = False
    """Whether the workers keep running after the run, so that they have to be left as they were found."""


class Backend(Generic[P]):
    """A kind of cluster; the base class of all backends, with defaults for everything but the workers themselves.

    An instance belongs to one profile and is used for one run. Its methods are called in the order in which they are
    defined here; those before `open_workers` are called before anything is written.

    Parameters
    ----------
    profile
        Where workers run, how many and how large.
    """

    TAKES: ClassVar[frozenset[str]] = frozenset()
    """Keys of a profile that the backend uses, besides `backend`, `description` and its own fields."""
    NEEDS: ClassVar[frozenset[str]] = frozenset()
    """Keys that a profile must have."""
    PROFILE: ClassVar["type[Profile] | None"] = None
    """Subclass of `Profile` with the backend's own fields; None if it has none."""
    EXTRA: ClassVar[str] = ""
    """Optional dependency to install, such as "hpc" for `pip install 'kernel-pipeline[hpc]'`."""
    PAUSES_WORKERS: ClassVar[bool] = True
    """Whether Dask pauses a worker that uses most of its memory."""
    CAN_SUBMIT: ClassVar[bool] = False
    """Whether `pipeline submit` can run the driver as a job of this backend."""

    def __init__(self, profile: P) -> None:
        self.profile = profile

    def assume_role(self) -> None:
        """Take the role of this process where many are started at once; only the driver returns."""

    def check_system(self) -> None:
        """Raise a ClusterError if limits of this machine do not allow a run."""

    def warm_up(self, modules: tuple[str, ...]) -> None:
        """Start importing modules where workers will run, if that is possible in advance, and return at once."""

    def check_driver(self, logs: Path) -> None:
        """Raise a ClusterError for what a driver on this host could not do.

        Parameters
        ----------
        logs
            Directory for the logs of the run.
        """

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the maximum number of workers and the memory of each in bytes (None if it is not known yet)."""
        raise NotImplementedError

    def open_workers(self, logs: Path) -> AbstractContextManager[Cluster]:
        """Start or find workers; those that were started are stopped when the block ends."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what `worker_limits` has opened, where no run follows; may be called more than once."""

    def job_script(self, logs: Path) -> str | None:
        """Return the script of a job that `pipeline plan` prints, or None if work does not run in jobs."""
        return None

    def library(self, name: str) -> ModuleType:
        """Import a library of the extra.

        Raises
        ------
        ProfileError
            If it is not installed; the message names the command that installs it.
        """
        try:
            return import_module(name)
        except ImportError:
            raise ProfileError(
                f"--cluster {self.profile.backend} needs more packages: pip install 'kernel-pipeline[{self.EXTRA}]'"
            ) from None


BACKENDS: Registry[type[Backend[Any]]] = Registry(
    "cluster backend",
    tuple(
        f"kernel_pipeline.cluster.{module}"
        for module in (
            "local",
            "threads",
            "slurm",
            "pbs",
            "lsf",
            "sge",
            "htcondor",
            "kubernetes",
            "gateway",
            "mpi",
            "address",
        )
    ),
)
