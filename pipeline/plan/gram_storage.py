"""Decide whether the Gram matrices of a dataset are stored, or computed where they are needed.

The decision depends on the config and the sizes of the data alone, so that it is the same when a run is resumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pipeline.cluster.quantities import parse_memory
from kernel_pipeline.config.sweep import StorageSettings
from kernel_pipeline.text import format_bytes


@dataclass(frozen=True)
class GramStorage:
    """Whether the Gram matrices and combined kernels of a dataset are stored."""

    recompute: bool
    kept_bytes: int
    """Disk space that the Gram matrices and combined kernels need if they are stored."""
    reason: str
    """Why they are kept or recomputed, as the end of a sentence."""


def choose_storage(storage: StorageSettings, kept_bytes: int) -> GramStorage:
    """Choose what is stored for a dataset, given the disk space that its Gram matrices and combined kernels need.

    >>> choose_storage(StorageSettings(keep_up_to="1 GiB"), 3 << 30).recompute
    True
    >>> choose_storage(StorageSettings(), 3 << 30).recompute
    False
    """
    if storage.gram != "auto":
        return GramStorage(storage.gram == "recompute", kept_bytes, f"since [storage] gram = {storage.gram!r}")
    fits = kept_bytes <= parse_memory(storage.keep_up_to)
    reason = f"since they {'do not ' if fits else ''}exceed [storage] keep_up_to = {storage.keep_up_to!r}"
    return GramStorage(not fits, kept_bytes, reason)


def describe_storage(chosen: Mapping[str, GramStorage]) -> list[str]:
    """Return one line per choice and reason, given the choice for each dataset.

    >>> describe_storage({"a": GramStorage(True, 3 << 30, "since [storage] gram = 'recompute'")})
    ["Gram matrices are recomputed, since [storage] gram = 'recompute': a (3 GiB if stored)"]
    """
    groups: dict[str, list[str]] = {}
    for name, gram in chosen.items():
        choice = f"Gram matrices are {'recomputed' if gram.recompute else 'kept'}, {gram.reason}"
        size = f"{name} ({format_bytes(gram.kept_bytes)}{' if stored' if gram.recompute else ''})"
        groups.setdefault(choice, []).append(size)
    return [f"{choice}: {', '.join(names)}" for choice, names in groups.items()]
