"""Define a task: an immutable value that declares its inputs, can run on any worker, and writes whole chunks."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kernel_pipeline.stages.task_results import NoResult, TaskResult
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Input

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from kernel_pipeline.cluster.worker_memory import WorkerMemory

STAGES = ("tiles", "reduce", "weights", "combine", "fits")
IDENTITY_NAME = "name in the identity"
"""Key of the metadata of a field that was renamed; its value is the earlier name, so that identities do not change."""
DATA_VERSION = 3
"""Version of the stored data, on which all tasks depend; increased when the way the data are stored changes."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One unit of work. It is sent to workers, so it contains names and numbers, but no arrays."""

    stage: ClassVar[str]
    version: ClassVar[int]
    """Increased when a change of the algorithm changes what the task writes."""
    reads: ClassVar[tuple[type["Task"], ...]] = ()
    """Task types whose outputs the task reads."""
    result_type: ClassVar[type[TaskResult]] = NoResult
    """Kind of result that the task reports to the ledger."""

    is_open_ended: ClassVar[bool] = False
    """Whether a result may request more tasks (`follow_up`)."""
    may_spread: ClassVar[bool] = False
    """Whether the task may use the memory of all workers (`can_spread`)."""

    dataset: str
    fingerprint: str
    """Digest of the samples of the dataset."""

    @property
    @abstractmethod
    def part(self) -> str:
        """Return the part of the name that distinguishes the task from others of its stage and dataset."""

    @property
    def name(self) -> str:
        """Return the name of the task, unique in a run."""
        return f"{self.stage}/{self.dataset}/{self.part}"

    @property
    def method_key(self) -> tuple[str, str] | None:
        """Return the problem and the method, if the outputs are used only for these; otherwise None."""
        return None

    @property
    def batch_key(self) -> str | None:
        """Return a key for grouping: tasks with the same key share inputs, and are sent to a worker together."""
        return None

    @property
    def identity(self) -> str:
        """Return a digest of everything that the outputs depend on.

        Fields with their default value are left out, so that finished tasks stay valid when such a field is added.
        """
        content = {"versions": self.versions(), **_given(self)}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=_describe).encode()).hexdigest()[:16]

    @classmethod
    def versions(cls) -> dict[str, int]:
        """Return the versions of the task and of everything that it depends on, by stage."""
        upstream = {stage: version for kind in cls.reads for stage, version in kind.versions().items()}
        found = {"data": DATA_VERSION} | upstream | {cls.stage: cls.version}
        result = cls.result_type.version  # the first version is left out, since earlier identities lack it
        return found if result == 1 else found | {f"result of {cls.stage}": result}

    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """Return what `run` may read. It is compared with the ledger, and reading anything else is an error."""

    @abstractmethod
    def writes(self) -> tuple[Input, ...]:
        """Return the arrays, or parts of arrays, that `run` writes; tasks that read them depend on this one."""

    def follow_up(self, result: TaskResult) -> tuple["Task", ...]:
        """Return the tasks that a result requests, such as another pass over the tiles; called if `is_open_ended`.

        Tasks that depend on this one wait for them as well. They must depend only on this task and its result, since
        they are determined again when a run is resumed.
        """
        return ()

    @abstractmethod
    def run(self, store: RunStore) -> "Output":
        """Run the task: read from the store, write whole chunks, and return their digests and a result."""

    def can_spread(self, limits: Mapping[str, int]) -> bool:
        """Return whether `run_spread` can be used, given the bytes that each worker may use; called if `may_spread`."""
        return False

    def run_spread(self, store: RunStore, memory: "WorkerMemory") -> "Output":
        """Run the task with the memory of all workers, on which no other task runs; it writes the same bytes."""
        return self.run(store)

    def read_result(self, value: object) -> TaskResult:
        """Return the result in a ledger line, which is a JSON object.

        Raises
        ------
        ValueError
            If it is not a valid result of this task.
        """
        return self.result_type.from_json(value)

    @classmethod
    def run_together(cls, tasks: Sequence[Self], store: RunStore) -> list["Output"]:
        """Run tasks with the same `batch_key`; they write the same bytes as if each ran separately."""
        return [task.run(store) for task in tasks]


@dataclass
class Output:
    """The output of a task."""

    digests: dict[str, str] = field(default_factory=dict)
    """Digests of the chunks that were written, by key."""
    result: TaskResult = field(default_factory=NoResult)
    """Small values for tables and messages."""


def _given(value: "DataclassInstance") -> dict[str, Any]:
    """Return the fields of a dataclass that do not have their default value."""
    given = ((member, getattr(value, member.name)) for member in fields(value))
    return {
        member.metadata.get(IDENTITY_NAME, member.name): value
        for member, value in given
        if member.default is MISSING or value != member.default
    }


def _describe(value: object) -> dict[str, Any]:
    """Return the JSON object of a dataclass in a task, such as a method: its class, version and given fields."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"a task cannot contain {value!r}: only numbers, strings, tuples and dataclasses of them")
    return {"class": type(value).__name__, "version": getattr(value, "version", 1), "fields": _given(value)}
