"""The ledger: an append-only file of what is finished, one JSON line each, flushed to the disk before it counts.

Every line carries a checksum of itself, and names the digests of the files that it speaks for: a run directory is
what its ledger says, and all else in it is checked against that.
"""

import json
import os
from dataclasses import asdict
from io import FileIO
from pathlib import Path

from pipeline.digests import content_digest
from pipeline.errors import RefusedError, StorageError
from pipeline.files import write_whole
from pipeline.task import Finished

CHECK = "check"


class Ledger:
    """What is finished in a run. The driver alone writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None

    def read(self) -> dict[str, Finished]:
        """What is finished by name, the latest line of each. A torn last line, from a crash, counts as absent."""
        finished = {}
        for number, line in enumerate(self._lines(), 1):
            entry = _parse(line)
            if entry is None:
                raise RefusedError(
                    f"{self.path}, line {number} is not a ledger line: something else changed the file. "
                    f"`pipeline verify {self.path.parent} --repair` leaves it out and does again what it spoke of"
                )
            finished[entry.name] = entry
        return finished

    def append(self, *entries: Finished) -> None:
        """Add what is finished; when this returns, it is on the disk."""
        file = self._file = self._file or self._open()
        if not os.fstat(file.fileno()).st_nlink:
            raise StorageError(f"{self.path} was removed while the run went on. Start it again")
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(b"".join(map(_line, entries)))
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)  # what did not fit
            raise

    def drop_garbage(self) -> list[int]:
        """Leave out every line that is none; gives their numbers. What they spoke of is then not finished."""
        lines = self._lines()
        garbage = [number for number, line in enumerate(lines, 1) if _parse(line) is None]
        if garbage:
            write_whole(self.path, b"".join(line + b"\n" for line in lines if _parse(line) is not None))
        return garbage

    def close(self) -> None:
        """Let the file go."""
        if self._file:
            self._file.close()
            self._file = None

    def _lines(self) -> list[bytes]:
        try:
            *lines, _torn = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        return lines

    def _open(self) -> FileIO:
        """Open to append, behind the last whole line; without a buffer, which a full disk would leave half-written."""
        file = self.path.open("r+b" if self.path.exists() else "xb", buffering=0)
        file.truncate(sum(len(line) + 1 for line in self._lines()))
        return file


def _line(entry: Finished) -> bytes:
    values = asdict(entry)
    values[CHECK] = _checksum(values)
    return json.dumps(values, allow_nan=False).encode() + b"\n"


def _parse(line: bytes) -> Finished | None:
    try:
        values = json.loads(line)
        check = values.pop(CHECK)
        return Finished(**values) if _checksum(values) == check else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _checksum(values: dict[str, object]) -> str:
    return content_digest(json.dumps(values, sort_keys=True, allow_nan=False).encode())
