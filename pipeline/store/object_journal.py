"""Store a journal in an object store as numbered segments, since objects cannot be appended to.

Each segment is written once, on the condition that it does not exist. The lines of two writers therefore never mix: the
second one gets an error.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.journal import MAX_LEDGER_BYTES, Journal, moved_error
from kernel_pipeline.store.regular_files import check_size

if TYPE_CHECKING:
    from kernel_pipeline.store.object_storage import ObjectStorage

SEGMENTS = "ledger"
SEGMENT = re.compile(rf"{SEGMENTS}/(\d{{8}})\.jsonl")


class SegmentJournal(Journal):
    """A journal made of segments, in the order of their numbers."""

    def __init__(self, root: "ObjectStorage") -> None:
        self._root = root
        self._last: int | None = None
        """Number of the last segment, after the first append."""

    def __str__(self) -> str:
        return f"{self._root}/{SEGMENTS}"

    def exists(self) -> bool:
        return self.has_lines()

    def has_lines(self) -> bool:
        return bool(self._numbers())

    def lines(self) -> list[bytes]:
        numbers = self._numbers()
        check_size(self, self._root.size(SEGMENTS), MAX_LEDGER_BYTES)
        contents = self._root.read_many([_key(number) for number in numbers])
        lines: list[bytes] = []
        # Segments are written whole, so a missing or truncated one is damage: it becomes a line that is not valid.
        for before, number, content in zip([0, *numbers], numbers, contents, strict=False):
            lines += [b"?"] if number != before + 1 else []
            *whole, rest = (b"?" if content is None else content).split(b"\n")
            lines += [*whole, rest] if rest else whole
        return lines

    def append(self, content: bytes) -> None:
        if not content:
            return
        self.check_not_moved()
        number = (max(self._numbers(), default=0) if self._last is None else self._last) + 1
        if not self._root.create(_key(number), content):
            raise RefusedError(
                f"{self._root} is being written by another run that ignores the lock: {_key(number)} exists already. "
                f"Stop one of the two runs, then run `pipeline resume {self._root}`"
            )
        self._last = number

    def rewrite(self, lines: Sequence[bytes]) -> None:
        numbers = self._numbers()
        # All lines are written first, then the old segments are removed, oldest first. If this is interrupted, the
        # remaining segments are equivalent, and the gap in their numbers shows that the rewrite must be repeated.
        self._root.write(_key(1), b"".join(line + b"\n" for line in lines))
        for number in numbers:
            if number != 1:
                self._root.remove(_key(number))
        self._last = None

    def check_not_moved(self) -> None:
        if self._last is not None and not self._root.exists(_key(self._last)):
            raise moved_error(self._root)

    def close(self) -> None:
        """Do nothing: no resources are held."""

    def _numbers(self) -> list[int]:
        found = (SEGMENT.fullmatch(key) for key in self._root.keys(SEGMENTS))
        return sorted(int(match[1]) for match in found if match)


def _key(number: int) -> str:
    return f"{SEGMENTS}/{number:08}.jsonl"
