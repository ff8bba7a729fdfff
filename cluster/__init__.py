"""Where work runs: one module a backend, behind `open_cluster`."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

CLUSTERS = ("local",)


@dataclass(frozen=True)
class Cluster:
    """Workers that are ready."""

    client: "Client"
    workers: int
    dashboard: str
    mend: Callable[[], object]
    """Asks for workers again that were lost for good."""


def warm_up(kind: str, modules: tuple[str, ...]) -> None:
    """Begin to import these modules where workers will run, if that can be done ahead, and return at once."""
    import_module(f"cluster.{kind}").warm_up(modules)


def open_cluster(kind: str, workers: int | None, logs: Path) -> AbstractContextManager[Cluster]:
    """Start workers of a kind of `CLUSTERS`; they are stopped, whatever happens, when the block ends."""
    opened: AbstractContextManager[Cluster] = import_module(f"cluster.{kind}").open_workers(workers, logs)
    return opened


def worker_limits(kind: str, workers: int | None) -> tuple[int, int]:
    """How many workers there will be, and the bytes of memory that each may use."""
    limits: tuple[int, int] = import_module(f"cluster.{kind}").worker_limits(workers)
    return limits
