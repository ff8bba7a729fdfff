"""Define the results that tasks report to the ledger, and convert them to and from the JSON of ledger lines.

The ledger of a run directory may be damaged or forged, so `from_json` accepts only what `to_json` writes, now or in
earlier versions, and raises a ValueError that names the invalid member. Unknown members are ignored.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from kernel_pipeline.store.json_object import JsonObject


class TaskResult(ABC):
    """Small values that a task reports in addition to the arrays that it writes."""

    version: ClassVar[int] = 1
    """Increased when a value is added that stored results lack: all tasks with such a result then run again."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of a ledger line."""

    @classmethod
    @abstractmethod
    def from_json(cls, value: object) -> Self:
        """Return the instance that a JSON object describes.

        Raises
        ------
        ValueError
            If the object is not valid.
        """


@dataclass(frozen=True)
class NoResult(TaskResult):
    """The result of a task that only writes arrays."""

    def to_json(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_json(cls, value: object) -> Self:
        JsonObject(value, "the result")
        return cls()
