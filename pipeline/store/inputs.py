"""Compute digests of the inputs of tasks: declared by tasks, expected by the driver, and verified by workers.

A task declares arrays, or trials or tiles of them. The digest of such an input is the sum, over its chunks, of a hash
of each chunk's key and digest, so it has the same size for any number of chunks, and the driver keeps it up to date as
tasks finish. A worker computes the same sum over the chunks that it has read. The ledger keeps one digest per task,
over all its inputs. It shows whether any input of the task has since been recomputed with another result.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, DamagedError
from kernel_pipeline.store.digests import is_chunk
from kernel_pipeline.store.keys import array_of

PRECOMPUTED = "precomputed"
"""Name of the array of precomputed kernels."""
SUMS = "sums"
"""Name of the group of the sums of tiles."""
Total = int
"""The digest of an input: the sum of the hashes of its chunks, plus the number of chunks times `2 ** COUNT_SHIFT`."""
HASH_BYTES = 8
COUNT_SHIFT = 128


@dataclass(frozen=True)
class Input:
    """An array, or parts of one, that a task declares in `Task.inputs` as read or in `Task.writes` as written."""

    array: str
    """Group and name of the array, such as `gram.zarr/wave/gram`."""
    parts: tuple[str, ...]
    """The array itself, or prefixes of the keys of its chunks."""


def whole(group: str, name: str) -> Input:
    """Return all chunks of an array as an input."""
    array = f"{group}/{name}"
    return Input(array, (array,))


def trials_of(group: str, name: str, trials: Iterable[int]) -> Input:
    """Return the chunks of some trials as an input, for an array whose first axis is the trial."""
    array = f"{group}/{name}"
    return Input(array, tuple(f"{array}/c/{trial}" for trial in trials))


def tiles_of(name: str, tiles: Iterable[tuple[int, int]]) -> Input:
    """Return some tiles of an array of base Gram matrices as an input."""
    array = f"{GRAM}/{name}"
    return Input(array, tuple(f"{array}/c/0/{i}/{j}" for i, j in tiles))


def precomputed_tiles(dataset: str, kernels: int, tiles: Iterable[tuple[int, int]]) -> Input:
    """Return some tiles of the array of precomputed kernels, in which each kernel has its own chunks, as an input."""
    array = f"{DATA}/{dataset}/{PRECOMPUTED}"
    return Input(array, tuple(f"{array}/c/{kernel}/{i}/{j}" for i, j in tiles for kernel in range(kernels)))


class Reader(Protocol):
    """A task that reads arrays."""

    @property
    def name(self) -> str:
        """Return the name of the task, unique in a run."""

    def inputs(self) -> tuple[Input, ...]:
        """Return everything that the task may read."""


class InputDigests:
    """The digests of all arrays, trials and tiles that tasks may read."""

    def __init__(self) -> None:
        self._totals: dict[str, Total] = {}

    def add(self, digests: Mapping[str, str]) -> None:
        """Add the digests of chunks, by key."""
        self._count(digests, 1)

    def replace(self, before: Mapping[str, str], digests: Mapping[str, str]) -> None:
        """Replace the digests of chunks that were added earlier; `before` is empty for new chunks."""
        if before != digests:
            self._count(before, -1)
            self._count(digests, 1)

    def of(self, task: Reader) -> tuple[Total, ...]:
        """Return the digest of each input of a task, in the order in which the task declares them."""
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
    """Return the digests of the inputs of tasks, including chunks that were written after the totals were computed.

    Parameters
    ----------
    totals
        Digests of the inputs of each task.
    reported
        Digests of the chunks that the totals do not include, by key.
    """
    added = InputDigests()
    for digests in reported:
        added.add(digests)
    return [
        tuple(known + more for known, more in zip(known_totals, added.of(task), strict=True))
        for task, known_totals in zip(tasks, totals, strict=True)
    ]


def ledger_digest(totals: Iterable[Total]) -> str:
    """Return the digest of all inputs of a task for the ledger: the number of chunks, and the sum of their hashes.

    >>> ledger_digest([(2 << 128) + 0xAB, (1 << 128) + 0x5])
    '3:b0'
    """
    total = sum(totals)
    return f"{total >> COUNT_SHIFT}:{total & ((1 << COUNT_SHIFT) - 1):x}"


def inputs_have_changed(recorded: str, totals: Iterable[Total]) -> bool:
    """Return whether the inputs of a task have changed since it ran.

    If chunks are missing now, this is not known, and False is returned; likewise for a line of the ledger without a
    digest, which an earlier version wrote.
    """
    if not recorded:
        return False
    now = ledger_digest(totals)
    return now != recorded and int(now.partition(":")[0]) >= int(recorded.partition(":")[0])


def check_inputs(
    tasks: Sequence[Reader], expected: Sequence[tuple[Total, ...]], read: Mapping[str, str], is_finished: bool
) -> None:
    """Check that the chunks that were read agree with the ledger.

    An input that was not read is ignored, since it did not affect the result. Each array that was read must be declared
    by one of the tasks; undeclared parts of a declared array are not checked.

    Parameters
    ----------
    expected
        Digests of the inputs, by task.
    read
        Digests of the chunks that were read.
    is_finished
        Whether the tasks have finished. Otherwise, an input that was read only in part is not an error.

    Raises
    ------
    DamagedError
        If a chunk differs from the ledger.
    TypeError
        If a task has read an array that it does not declare.
    """
    found = InputDigests()
    found.add(read)
    declared = {needed.array for task in tasks for needed in task.inputs()}
    if undeclared := sorted({array_of(key) for key in read} - declared):
        raise TypeError(f"{tasks[0].name} reads {undeclared[0]}, which it does not declare as an input")
    for task, totals in zip(tasks, expected, strict=True):
        for needed, total, now in zip(task.inputs(), totals, found.of(task), strict=True):
            is_complete = now >> COUNT_SHIFT == total >> COUNT_SHIFT
            if now not in (0, total) and (is_complete or is_finished):
                raise DamagedError(
                    f"{needed.array} differs from the ledger; {task.name} has read it, so its result is discarded"
                )


def _total(key: str, digest: str) -> Total:
    hashed = hashlib.blake2b(f"{key}={digest}".encode(), digest_size=HASH_BYTES)
    return (1 << COUNT_SHIFT) | int.from_bytes(hashed.digest())


def _parts(key: str) -> tuple[str, ...]:
    """Return the inputs that a chunk may be part of: its array, and its tile or the chunks of its trial."""
    array, _, chunk = key.rpartition("/c/")
    group, _, below = array.partition("/")  # a key of a forged ledger may have fewer parts than those of a run
    folder, _, name = below.rpartition("/")
    if group == GRAM or (group == DATA and name == PRECOMPUTED):
        return (array, key)
    if group == STATISTICS and folder.rpartition("/")[2] == SUMS:  # read as a whole, and there may be many chunks
        return (array,)
    return (array, f"{array}/c/{chunk.partition('/')[0]}")
