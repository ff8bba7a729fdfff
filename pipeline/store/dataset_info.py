"""What a plan, and a run directory, need to know of a dataset without its numbers."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

MAX_COUNT = 1 << 48
"""Of rows, columns or numbers."""


@dataclass(frozen=True)
class Outline:
    """The sizes and the identity of the samples of a dataset."""

    name: str
    fingerprint: str
    """A digest of every number that learning sees."""
    rows: int
    columns: int
    entries: int
    """Numbers that are kept: all of a table, those that are not zero of sparse columns."""
    kernels: tuple[str, ...]
    """The names of the base kernels."""
    left_out: int
    """Rows of the source that had gaps."""
    direct: tuple[str, ...] = ()
    """Names of the columns whose differences are computed directly, since squared norms would cancel."""

    def values(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, values: dict[str, Any]) -> Self:
        """From what `values` gave; a `ValueError` or `TypeError` if it is something else."""
        lists = {name: values.get(name, ()) for name in ("kernels", "direct")}
        for name, texts in lists.items():
            if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
                raise ValueError(f"{name} is not a list of texts")
        found = cls(**values | {name: tuple(texts) for name, texts in lists.items()})
        for field in fields(cls):
            value = getattr(found, field.name)
            if field.type in (str, int) and type(value) is not field.type:
                raise ValueError(f"{field.name} is not of type {field.type}")
            if type(value) is int and not 0 <= value <= MAX_COUNT:
                raise ValueError(f"{field.name} is {value}; at most {MAX_COUNT:,} are possible")
        return found
