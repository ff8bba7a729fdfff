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
from pipeline.files import quoted, sync_folder, write_whole
from pipeline.task import Finished

CHECK = b', "check": "'


class Ledger:
    """What is finished in a run. The driver alone writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None
        self._entries: dict[str, Finished] | None = None

    def read(self) -> dict[str, Finished]:
        """What is finished by name, the latest line of each. A torn last line, from a crash, counts as absent.

        The file is read once: nobody else writes it.
        """
        if self._entries is None:
            self._entries = self._read()
        return dict(self._entries)

    def named_files(self) -> set[str]:
        """The keys of all files that any line names, also those that a later line of the same name does not."""
        entries = (_parse(line) for line in self._lines())
        return {key for entry in entries if entry for key in entry.digests}

    def _read(self) -> dict[str, Finished]:
        finished = {}
        for number, line in enumerate(self._lines(), 1):
            entry = _parse(line)
            if entry is None:
                raise RefusedError(
                    f"{self.path}, line {number} is not a ledger line: something else changed the file. "
                    f"`pipeline verify {quoted(self.path.parent)} --repair` leaves it out and does again what it "
                    "spoke of"
                )
            finished[entry.name] = entry
        return finished

    def append(self, *entries: Finished) -> None:
        """Add what is finished; when this returns, it is on the disk."""
        file = self._file = self._file or self._open()
        self.check_place()
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(b"".join(map(_line, entries)))
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)  # what did not fit
            raise
        if self._entries is not None:
            self._entries |= {entry.name: entry for entry in entries}

    def check_place(self) -> None:
        """Refuse to go on if the file is not where it was: someone moved or removed the run directory."""
        try:
            in_place = self._file is None or self.path.stat().st_ino == os.fstat(self._file.fileno()).st_ino
        except OSError:
            in_place = False
        if not in_place:
            raise StorageError(f"{self.path.parent} was moved or removed while the run went on. Start the run again")

    def drop_garbage(self) -> list[int]:
        """Leave out every line that is none; gives their numbers. What they spoke of is then not finished."""
        lines = self._lines()
        garbage = [number for number, line in enumerate(lines, 1) if _parse(line) is None]
        if garbage:
            write_whole(self.path, b"".join(line + b"\n" for line in lines if _parse(line) is not None))
            self._entries = None
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
        sync_folder(self.path.parent)
        return file


def _line(entry: Finished) -> bytes:
    """A JSON object whose last member is the digest of all before it."""
    body = json.dumps(asdict(entry), allow_nan=False).encode().removesuffix(b"}")
    return body + CHECK + content_digest(body).encode() + b'"}\n'


def _parse(line: bytes) -> Finished | None:
    body, _, check = line.rpartition(CHECK)
    if check != content_digest(body).encode() + b'"}':
        return None
    try:
        return Finished(**json.loads(body + b"}"))
    except (ValueError, TypeError):
        return None
