"""Define the interface of kernels of which solvers need only some rows, and a cache of computed rows."""

from collections import OrderedDict
from typing import Protocol

import numpy as np

from kernel_pipeline.tasks.arrays import FLOAT_BYTES, Floats, Integers


class KernelRows(Protocol):
    """The kernel of training samples against all of them, or against a part of them."""

    @property
    def n_columns(self) -> int:
        """Return the number of samples against which rows are computed."""

    def rows(self, indices: Integers) -> Floats:
        """Return the rows of some distinct samples, (number of indices, columns)."""

    def only(self, samples: Integers) -> "KernelRows":
        """Return the kernel of some of the samples against themselves."""


class CachedRows:
    """Cache of the most recently used rows of a kernel.

    Parameters
    ----------
    source
        Kernel whose rows are cached.
    max_bytes
        Size of the cache; at least one row is kept.
    """

    def __init__(self, source: KernelRows, max_bytes: int) -> None:
        self._source, self._max_bytes = source, max_bytes
        self.capacity = max(1, max_bytes // (FLOAT_BYTES * source.n_columns))
        self._slots: OrderedDict[int, int] = OrderedDict()  # by sample, from the least to the most recently used
        self._kept: Floats = np.empty((self.capacity, source.n_columns))  # pages are allocated when rows are written
        self.computed = 0
        """Number of rows that were computed."""

    @property
    def n_columns(self) -> int:
        """Return the number of columns of the source."""
        return self._source.n_columns

    def only(self, samples: Integers) -> "CachedRows":
        """Return the kernel of some of the samples, with a cache of its own."""
        return CachedRows(self._source.only(samples), self._max_bytes)

    def rows(self, indices: Integers) -> Floats:
        """Return rows from the cache, after computing those that are missing."""
        found = np.empty((len(indices), self.n_columns))
        missing: dict[int, int] = {}
        for place, index in enumerate(indices.tolist()):
            if index in self._slots:
                self._slots.move_to_end(index)
                found[place] = self._kept[self._slots[index]]
            else:
                missing[index] = place
        if missing:
            places = list(missing.values())
            found[places] = self._source.rows(indices[places])
            self.computed += len(places)
            for index, place in list(missing.items())[: self.capacity]:
                self._kept[self._new_slot(index)] = found[place]
        return found

    def _new_slot(self, index: int) -> int:
        """Return the slot of a new row: a free one, or that of the least recently used row."""
        slot = len(self._slots)
        if slot == self.capacity:
            _, slot = self._slots.popitem(last=False)
        self._slots[index] = slot
        return slot
