"""The ledger: an append-only list of what is finished, one JSON line each, flushed to the disk before it counts.

Every line carries a checksum of itself, and names the digests of the files that it speaks for: a run directory is
what its ledger says, and all else in it is checked against that.
"""

import json

from kernel_pipeline.errors import RefusedError
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.ledger_entries import check_entry
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage

CHECK = b', "check": "'
ZEROED = bytes(512)
"""A sector without content, which no line has: what a power cut may leave of lines that were being written."""


class Ledger:
    """What is finished in a run. The driver alone writes it."""

    def __init__(self, root: Storage) -> None:
        self.root, self.journal = root, root.journal()
        self._entries: dict[str, Finished] | None = None

    def read(self) -> dict[str, Finished]:
        """What is finished by name, the latest line of each. Lines that a crash tore or zeroed count as absent.

        The lines are read once: nobody else writes them.
        """
        if self._entries is None:
            self._entries = self._read()
        return dict(self._entries)

    def versions(self, name: str) -> list[Finished]:
        """All lines of a name, the latest last."""
        entries = (_parse(line) for line in self.journal.lines())
        return [entry for entry in entries if entry and entry.name == name]

    def named_files(self) -> set[str]:
        """The keys of all files that any line names, also those that a later line of the same name does not."""
        entries = (_parse(line) for line in self.journal.lines())
        return {key for entry in entries if entry for key in entry.digests}

    def _read(self) -> dict[str, Finished]:
        finished = {}
        for number, line in enumerate(self.journal.lines(), 1):
            entry = _parse(line)
            if entry is None and ZEROED in line:
                continue
            if entry is None:
                raise RefusedError(
                    f"{self.journal}, line {number} is not a ledger line: something else changed the file. "
                    f"`pipeline verify {quoted(self.root)} --repair` leaves it out and does again what it spoke of"
                )
            finished[entry.name] = entry
        return finished

    def append(self, *entries: Finished) -> None:
        """Add what is finished; when this returns, it is on the disk."""
        self.journal.append(b"".join(map(_line, entries)))
        if self._entries is not None:
            self._entries |= {entry.name: entry for entry in entries}

    def zeroed(self) -> list[int]:
        """The numbers of the lines that a power cut zeroed."""
        return [number for number, line in enumerate(self.journal.lines(), 1) if ZEROED in line]

    def drop_zeroed(self) -> list[int]:
        """Leave out the lines that a power cut zeroed; gives their numbers. All others carry their own checksums."""
        return self._drop(self.zeroed())

    def drop_garbage(self) -> list[int]:
        """Leave out every line that is none; gives their numbers. What they spoke of is then not finished."""
        return self._drop([number for number, line in enumerate(self.journal.lines(), 1) if _parse(line) is None])

    def _drop(self, numbers: list[int]) -> list[int]:
        if numbers:
            dropped = set(numbers)
            kept = [line for number, line in enumerate(self.journal.lines(), 1) if number not in dropped]
            self.journal.rewrite(kept)
            self._entries = None
        return numbers

    def close(self) -> None:
        """Let the file go."""
        self.journal.close()


def _line(entry: Finished) -> bytes:
    """A JSON object whose last member is the digest of all before it."""
    body = json.dumps(entry.values(), allow_nan=False).encode().removesuffix(b"}")
    return body + CHECK + content_digest(body).encode() + b'"}\n'


def _parse(line: bytes) -> Finished | None:
    """What a line says; None if its checksum is wrong, or if it says what no run writes."""
    body, _, check = line.rpartition(CHECK)
    if check != content_digest(body).encode() + b'"}':
        return None
    try:
        values = parse_json(body + b"}")
        check_entry(values)
        return Finished(**values)
    except (ValueError, TypeError):
        return None
