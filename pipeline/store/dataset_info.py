"""Facts about a dataset that a plan and a run directory need, without its numbers."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from kernel_pipeline.text import printable

MAX_COUNT = 1 << 48
"""Upper limit of the numbers of rows, columns and entries."""


@dataclass(frozen=True)
class DatasetInfo:
    """The sizes and the identity of the samples of a dataset."""

    name: str
    fingerprint: str
    """A digest of every number that learning sees."""
    rows: int
    columns: int
    entries: int
    """Number of stored values: all of a table, the nonzero ones of sparse columns."""
    kernels: tuple[str, ...]
    """The names of the base kernels."""
    left_out: int
    """Number of rows of the source that were left out because of missing values."""
    notes: tuple[str, ...] = ()
    """What a user should know about the kernel families on these data, one sentence each."""

    def values(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """Return the facts that `values` gave.

        Raises
        ------
        ValueError, TypeError
            If the values are of another form.
        """
        values = dict(values)
        direct = _texts(values.pop("direct", ()), "direct")  # of a run directory of an earlier version
        notes = _texts(values.get("notes", ()), "notes")
        if direct:
            notes += (f"columns {', '.join(map(repr, direct))}: their differences are computed directly",)
        lists = {"kernels": _texts(values.get("kernels", ()), "kernels"), "notes": tuple(map(printable, notes))}
        found = cls(**values | lists)
        for field in fields(cls):
            value = getattr(found, field.name)
            if field.type in (str, int) and type(value) is not field.type:
                raise ValueError(f"{field.name} is not of type {field.type}")
            if type(value) is int and not 0 <= value <= MAX_COUNT:
                raise ValueError(f"{field.name} is {value}; at most {MAX_COUNT:,} are possible")
        return found


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise ValueError(f"{name} is not a list of texts")
    return tuple(value)
