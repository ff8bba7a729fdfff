"""A task: a frozen value that says all it depends on, runs anywhere, and leaves whole chunks and a small result."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Self

from kernel_pipeline.stages.task_results import NoResult, TaskResult
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Input

STAGES = ("tiles", "reduce", "weights", "combine", "fits")
DATA_VERSION = 3
"""Raised when data are stored in another way, on which every task builds."""


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One unit of work. Sent to a worker as it is, so it holds names and numbers, never arrays."""

    stage: ClassVar[str]
    version: ClassVar[int]
    """Raised when the algorithm changes what the task writes."""
    reads: ClassVar[tuple[type["Task"], ...]] = ()
    """The kinds of tasks whose outputs it reads."""
    result_type: ClassVar[type[TaskResult]] = NoResult
    """The kind of result that it reports to the ledger."""

    is_open_ended: ClassVar[bool] = False
    """Whether a result may ask for more tasks (`follow_up`)."""

    dataset: str
    fingerprint: str
    """Of the samples of the dataset."""

    @property
    @abstractmethod
    def part(self) -> str:
        """What tells this task from the others of its stage and dataset."""

    @property
    def name(self) -> str:
        """Unique in a run."""
        return f"{self.stage}/{self.dataset}/{self.part}"

    @property
    def cell(self) -> tuple[str, str] | None:
        """(task, method) if its outputs serve no other cells."""
        return None

    @property
    def batch_key(self) -> str | None:
        """Tasks with the same key share their inputs and go to a worker together, if they can run at the same time."""
        return None

    @property
    def identity(self) -> str:
        """Digest of everything that the outputs depend on.

        A field that has its default value is left out, so that a new field with a default outdates no finished task.
        """
        defaults = {member.name: member.default for member in fields(self) if member.default is not MISSING}
        given = {name: value for name, value in vars(self).items() if name not in defaults or value != defaults[name]}
        content = {"versions": self.versions(), **given}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=_describe).encode()).hexdigest()[:16]

    @classmethod
    def versions(cls) -> dict[str, int]:
        """Its own version and those of all that it builds on, by stage."""
        upstream = {stage: version for kind in cls.reads for stage, version in kind.versions().items()}
        return {"data": DATA_VERSION} | upstream | {cls.stage: cls.version}

    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """What `run` may read: it is checked against the ledger, and reading anything else is an error."""

    @abstractmethod
    def writes(self) -> tuple[Input, ...]:
        """Return the arrays, or parts of arrays, that `run` writes: tasks that read them wait for this one."""

    def follow_up(self, result: Mapping[str, Any]) -> tuple["Task", ...]:
        """Return the tasks that a result asks for, such as another pass over the tiles.

        Tasks that depend on this one wait for them as well. The tasks must follow from this task and its result alone,
        since they are determined again when a run is resumed. Only called if `is_open_ended`.
        """
        return ()

    @abstractmethod
    def run(self, store: RunStore) -> "Output":
        """Do the work: read from the store, write whole chunks, say what was written."""

    def read_result(self, value: object) -> TaskResult:
        """Return the result that a ledger line holds as a JSON object.

        Raises
        ------
        ValueError
            If this task cannot have written it.
        """
        return self.result_type.from_json(value)

    @classmethod
    def run_together(cls, tasks: Sequence[Self], store: RunStore) -> list["Output"]:
        """Run tasks with the same `batch_key`; what they write is the same, to the byte, as if each ran alone."""
        return [task.run(store) for task in tasks]


@dataclass
class Output:
    """What a task leaves behind."""

    digests: dict[str, str] = field(default_factory=dict)
    """Checksum of each chunk that was written, by its key in the run directory."""
    result: TaskResult = field(default_factory=NoResult)
    """Small values for tables and messages."""


def _describe(value: object) -> dict[str, Any]:
    """Return a dataclass that a task holds, such as a method, as JSON: its class and version, and its fields."""
    if not is_dataclass(value):
        raise TypeError(f"a task cannot hold {value!r}: only numbers, texts, tuples and dataclasses of them")
    content = {item.name: getattr(value, item.name) for item in fields(value)}
    return {"class": type(value).__name__, "version": getattr(value, "version", 1), "fields": content}
