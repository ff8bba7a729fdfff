"""Define the events of a run: the driver emits them, and listeners show, count or log them.

The driver prints nothing itself. Progress bars, the log of the driver and all text on a terminal are listeners.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Notice:
    """A message for the user."""

    text: str


@dataclass(frozen=True)
class ReusableRun:
    """A run in the default folder, of a similar config, that is not resumed, since no run directory was given.

    Its config is the new config without some of its entries; or, if changes are accepted, another config with the same
    name.
    """

    location: str
    additions: tuple[str, ...]
    """Entries that only the new config has, one line each; empty if the configs differ by more than that."""


@dataclass(frozen=True)
class RunStarted:
    """The run directory was checked, and the pending tasks are about to be executed."""

    name: str
    location: str
    """Where the arrays are stored."""
    datasets: int
    methods: int
    trials: int
    pending: int
    """Number of tasks to execute."""
    total: int
    """Number of tasks of the whole sweep."""
    disk_bytes: int
    """Projected size of all arrays."""
    notes: tuple[str, ...] = ()
    """Remarks of the plan, one line each."""


@dataclass(frozen=True)
class TasksStarted:
    """A cluster is open, and tasks are about to be submitted to it."""

    totals: Mapping[str, int]
    """Number of tasks of the sweep by stage."""
    finished: Mapping[str, int]
    """Number of tasks that were finished earlier, by stage."""
    remaining: float | None = None
    """Estimated remaining time in seconds; None if it is not known yet."""


@dataclass(frozen=True)
class ClusterOpened:
    """A cluster was opened."""

    workers: int
    """Maximum number of workers."""
    dashboard: str
    """Address of Dask's dashboard, or the reason why there is none."""


@dataclass(frozen=True)
class TaskFinished:
    """A task was recorded in the ledger."""

    name: str
    stage: str
    """Stage of the task; empty for tasks that are not in the plan, such as those of an iterative solver."""
    seconds: float
    failed: str = ""
    """Why the task failed; empty if it succeeded."""
    remaining: float | None = None
    """Estimated remaining time of the run in seconds; None if it is not known yet."""


MAX_RUNNING_S = 1e9
"""Longer times of running tasks are not believed."""


@dataclass(frozen=True)
class RunningBatch:
    """Tasks that a worker is running together; usually a single one."""

    tasks: tuple[str, ...]
    """Names of the tasks."""
    seconds: float
    """Time since the first of them was started."""
    progress: str = ""
    """How far the computation is, such as "23 passes, 9 of 16 ridges done"; empty if it is not known."""


@dataclass(frozen=True)
class TasksRunning:
    """The tasks that workers are running now; emitted about every ten seconds, also if no task is finished."""

    batches: tuple[RunningBatch, ...]
    """The batches that are running, those that have run longest first."""
    remaining: float | None = None
    """Estimated remaining time of the run in seconds; None if it is not known yet."""


@dataclass(frozen=True)
class TasksStopped:
    """No more tasks are executed: all are finished, or the run was stopped."""


@dataclass(frozen=True)
class RunFinished:
    """All tasks are finished and the tables are written."""

    location: str
    """The run directory."""
    failed: int
    """Number of tasks that failed, or whose results include cells that failed."""
    seconds: float


Event: TypeAlias = (
    Notice
    | ReusableRun
    | RunStarted
    | TasksStarted
    | ClusterOpened
    | TaskFinished
    | TasksRunning
    | TasksStopped
    | RunFinished
)
Listener: TypeAlias = Callable[[Event], None]


class Emitter:
    """Pass events to listeners, in the order in which the listeners were given.

    An exception that a listener raises stops the run, which can be resumed.

    Examples
    --------
    >>> emit = Emitter([print])
    >>> emit.notice("the disk is nearly full")
    Notice(text='the disk is nearly full')
    """

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners = tuple(listeners)

    def __call__(self, event: Event) -> None:
        """Pass an event to all listeners."""
        for listener in self._listeners:
            listener(event)

    def with_listener(self, listener: Listener) -> "Emitter":
        """Return an emitter that also passes events to another listener, after all others."""
        return Emitter((*self._listeners, listener))

    def notice(self, text: str) -> None:
        """Emit a `Notice`."""
        self(Notice(text))
