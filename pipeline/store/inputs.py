"""What tasks read, as digests: declared by tasks, expected by the driver, and compared with what a worker has read.

A task declares arrays, or trials or tiles of them. The digest of such an input is the sum, over its chunks, of a hash
of each chunk's key and digest, so it has the same size for any number of chunks, and the driver keeps it up to date as
tasks finish. A worker takes the same sum over the chunks that it has read. The ledger keeps one digest per task, over
all its inputs: it tells whether anything that the task was built on has since been computed again with another result.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernel_pipeline.store.arrays import GRAM, DamagedError
from kernel_pipeline.store.digests import is_chunk

Total = int
"""The digest of an input: the number of its chunks, above the sum of their hashes."""
HASH_BYTES = 8
COUNT_SHIFT = 128


@dataclass(frozen=True)
class Input:
    """An array, or parts of one."""

    array: str
    """Its group and name, as in `gram.zarr/wave/gram`."""
    parts: tuple[str, ...]
    """What is read of it: the array itself, or prefixes of chunk keys."""


def whole(group: str, name: str) -> Input:
    """All chunks of an array."""
    array = f"{group}/{name}"
    return Input(array, (array,))


def trials_of(group: str, name: str, trials: Iterable[int]) -> Input:
    """The chunks of some trials, of an array whose first axis is the trial."""
    array = f"{group}/{name}"
    return Input(array, tuple(f"{array}/c/{trial}" for trial in trials))


def tiles_of(name: str, tiles: Iterable[tuple[int, int]]) -> Input:
    """Some tiles of an array of base Gram matrices."""
    array = f"{GRAM}/{name}"
    return Input(array, tuple(f"{array}/c/0/{i}/{j}" for i, j in tiles))


class Reader(Protocol):
    """A task, as far as it reads arrays."""

    @property
    def name(self) -> str:
        """Name of the task, unique in a run."""

    def inputs(self) -> tuple[Input, ...]:
        """Return all that the task may read."""


class InputDigests:
    """The digests of all arrays, trials and tiles that tasks may read."""

    def __init__(self) -> None:
        self._totals: dict[str, Total] = {}

    def add(self, digests: Mapping[str, str]) -> None:
        """Count chunks in, by their keys."""
        self._count(digests, 1)

    def replace(self, before: Mapping[str, str], digests: Mapping[str, str]) -> None:
        """Count chunks in, where others may have been before."""
        if before != digests:
            self._count(before, -1)
            self._count(digests, 1)

    def of(self, task: Reader) -> tuple[Total, ...]:
        """The digest of each input of a task, in the order in which it declares them."""
        get = self._totals.get
        return tuple(sum(get(part, 0) for part in needed.parts) for needed in task.inputs())

    def _count(self, digests: Mapping[str, str], sign: int) -> None:
        totals = self._totals
        for key, digest in digests.items():
            if is_chunk(key):
                total = sign * _total(key, digest)
                for part in _parts(key):
                    totals[part] = totals.get(part, 0) + total


def with_reports(
    tasks: Sequence[Reader], totals: Sequence[tuple[Total, ...]], reported: Iterable[Mapping[str, str]]
) -> list[tuple[Total, ...]]:
    """Return the digests of the inputs of tasks when chunks are added that the given totals do not count."""
    added = InputDigests()
    for digests in reported:
        added.add(digests)
    return [
        tuple(known + more for known, more in zip(known_totals, added.of(task), strict=True))
        for task, known_totals in zip(tasks, totals, strict=True)
    ]


def ledger_digest(totals: Iterable[Total]) -> str:
    """One digest of all inputs of a task, as the ledger has it: the number of chunks, and the sum of their hashes.

    >>> ledger_digest([(2 << 128) + 0xAB, (1 << 128) + 0x5])
    '3:b0'
    """
    total = sum(totals)
    return f"{total >> COUNT_SHIFT}:{total & ((1 << COUNT_SHIFT) - 1):x}"


def is_built_on_others(recorded: str, totals: Iterable[Total]) -> bool:
    """Whether what a task was built on differs from what there is now.

    While chunks are missing from what there is now, nobody can tell; the answer is no then. So it is for a line of the
    ledger without a digest, which an earlier version wrote.
    """
    if not recorded:
        return False
    now = ledger_digest(totals)
    return now != recorded and int(now.partition(":")[0]) >= int(recorded.partition(":")[0])


def check_inputs(
    tasks: Sequence[Reader], expected: Sequence[tuple[Total, ...]], read: Mapping[str, str], to_the_end: bool
) -> None:
    """Raise a `DamagedError` if something was read that is not what the ledger has.

    An input of which nothing was read had no part in the result. Each chunk that was read must belong to an input.

    Parameters
    ----------
    expected
        The digests of the inputs, by task.
    read
        The digests of the chunks that were read.
    to_the_end
        Whether the tasks came to their end; else they may have stopped within an input, which tells nothing.
    """
    found = InputDigests()
    found.add(read)
    declared = {needed.array for task in tasks for needed in task.inputs()}
    if undeclared := sorted({_array(key) for key in read} - declared):
        raise TypeError(f"{tasks[0].name} reads {undeclared[0]}, which it does not declare as an input")
    for task, totals in zip(tasks, expected, strict=True):
        for needed, total, now in zip(task.inputs(), totals, found.of(task), strict=True):
            is_complete = now >> COUNT_SHIFT == total >> COUNT_SHIFT
            if now not in (0, total) and (is_complete or to_the_end):
                raise DamagedError(
                    f"{needed.array} holds other values than the ledger says; {task.name} has read them, and its "
                    "result is dropped"
                )


def _array(key: str) -> str:
    return key.rpartition("/c/")[0]


def _total(key: str, digest: str) -> Total:
    hashed = hashlib.blake2b(f"{key}={digest}".encode(), digest_size=HASH_BYTES)
    return (1 << COUNT_SHIFT) | int.from_bytes(hashed.digest())


def _parts(key: str) -> tuple[str, ...]:
    """What a chunk is a part of, as far as tasks read it: an array, and a tile or the chunks of a trial."""
    array, _, place = key.rpartition("/c/")
    if array.startswith(f"{GRAM}/"):
        return (array, key)
    if "/sums/" in array:  # always read as a whole, and there may be very many chunks
        return (array,)
    return (array, f"{array}/c/{place.partition('/')[0]}")
