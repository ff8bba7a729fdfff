"""What a plan, and a run directory, need to know of a dataset without its numbers."""

from dataclasses import asdict, dataclass
from typing import Any, Self


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
        """From what `values` gave."""
        return cls(**values | {name: tuple(values.get(name, ())) for name in ("kernels", "direct")})
