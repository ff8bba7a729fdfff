"""The result that a task reports to the ledger: a typed record with the JSON object that a ledger line holds.

The ledger of a run directory may be damaged or forged, so `from_json` accepts only what `to_json` writes, now or in
earlier versions, and raises a ValueError that names the member at fault. Unknown members are ignored.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from kernel_pipeline.store.json_object import JsonObject


class TaskResult(ABC):
    """What a task reports besides the arrays that it writes."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of a ledger line."""

    @classmethod
    @abstractmethod
    def from_json(cls, value: object) -> Self:
        """Return the record of a JSON object.

        Raises
        ------
        ValueError
            If no task can have written it.
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
