"""Define the interface of cluster backends, and the functions that register and find them.

A backend is one file: a subclass of `Backend`, registered under the name that profiles give as `backend`. It states
which keys of a profile it uses (`KEYS`), which of them are required (`REQUIRED_KEYS`), and which optional dependency of
this package it needs (`EXTRA`). Keys that no other backend has are fields of its own subclass of `Profile` (`PROFILE`).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from kernel_pipeline.cluster.errors import ProfileError

if TYPE_CHECKING:
    from distributed import Client

    from kernel_pipeline.cluster.profile import Profile

P = TypeVar("P", bound="Profile")
B = TypeVar("B", bound="type[Backend[Any]]")


@dataclass(frozen=True)
class Cluster:
    """A scheduler with a connected client; its workers may still be starting."""

    client: "Client"
    max_workers: int
    """Maximum number of workers."""
    dashboard: str
    """Address of the dashboard, or the reason why there is none."""
    replace_lost: Callable[[], object] = lambda: None
    """Function that requests replacements for lost workers."""
    pending_reason: Callable[[], str] | None = None
    """Function that describes why workers have not started yet, since a queue may delay them for hours; None if they
    start at once."""
    is_external: bool = False
    """Whether the workers keep running after the run, so that the run must not change them permanently."""


class Backend(Generic[P]):
    """Base class of all backends, with defaults for everything except `worker_limits` and `open_workers`.

    An instance belongs to one profile and is used for one run. `assume_role` is called first, and `close` last.
    `pipeline run` calls the methods before `open_workers` in the order in which they are defined here, before anything
    is written. `pipeline resume` calls `check_driver` before it takes the lock of the run directory and, if tasks are
    pending, `check_system`, `warm_up` and `worker_limits` afterwards. `worker_limits` may be called more than once.

    Parameters
    ----------
    profile
        Location, number and size of the workers.
    """

    KEYS: ClassVar[frozenset[str]] = frozenset()
    """Keys of a profile that the backend uses, besides `backend`, `description` and its own fields."""
    REQUIRED_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Keys that a profile must have."""
    PROFILE: ClassVar["type[Profile] | None"] = None
    """Subclass of `Profile` with the backend's own fields; None if it has none."""
    EXTRA: ClassVar[str] = ""
    """Optional dependency to install, such as "hpc" for `pip install 'kernel-pipeline[hpc]'`."""
    PAUSES_WORKERS: ClassVar[bool] = True
    """Whether Dask pauses a worker that uses most of its memory."""
    IS_LOCAL: ClassVar[bool] = False
    """Whether all workers run on this machine."""

    def __init__(self, profile: P) -> None:
        self.profile = profile

    def assume_role(self) -> None:
        """Run the scheduler or a worker, if all processes are started together; only the driver returns."""

    def check_system(self) -> None:
        """Raise a ClusterError if limits of this machine do not allow a run."""

    def warm_up(self, modules: tuple[str, ...]) -> None:
        """Start importing modules where workers will run, if that is possible in advance, and return at once."""

    def check_driver(self, logs: Path) -> None:
        """Raise a ClusterError if a driver cannot run on this host.

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
        """Release what `worker_limits` has opened, if no run follows; may be called more than once."""

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


BUILT_IN = {
    name: f"kernel_pipeline.cluster.{name}"
    for name in (
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
}
"""Modules of the built-in backends by name; each is imported when its backend is first used."""
REGISTERED: dict[str, type[Backend[Any]]] = {}
"""Backends whose modules have been imported, by name."""


def register(name: str) -> Callable[[B], B]:
    """Return a decorator that adds a backend under the name that profiles give as `backend`.

    Raises
    ------
    ValueError
        If the name is taken by another backend.
    """

    def add(backend: B) -> B:
        is_other = BUILT_IN.get(name, backend.__module__) != backend.__module__
        if is_other or REGISTERED.get(name, backend) is not backend:
            raise ValueError(f"there is already a cluster backend {name!r}")
        REGISTERED[name] = backend
        return backend

    return add


def backend_names() -> list[str]:
    """Return the names of all backends, the built-in ones first."""
    return list(dict.fromkeys((*BUILT_IN, *REGISTERED)))


def find_backend(name: str) -> type[Backend[Any]]:
    """Return the backend with the given name, which must be one of `backend_names()`.

    >>> find_backend("threads").__name__
    'Threads'
    """
    if name in BUILT_IN:
        import_module(BUILT_IN[name])
    return REGISTERED[name]
