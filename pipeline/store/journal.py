"""Store an append-only sequence of lines, each of which is durable once it has been appended."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path

from kernel_pipeline.errors import RefusedError, StorageError
from kernel_pipeline.store.files import sync_folder, write_whole
from kernel_pipeline.store.regular_files import check_size, is_regular, open_regular

MAX_LEDGER_BYTES = 2 << 30
MAX_LINE_BYTES = 128 << 20


class Journal(ABC):
    """An append-only sequence of lines. Only one process may append to it."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the location of the journal, for messages."""

    @abstractmethod
    def exists(self) -> bool:
        """Return whether the journal exists, even if it is empty."""

    @abstractmethod
    def has_lines(self) -> bool:
        """Return whether the journal has at least one line."""

    @abstractmethod
    def lines(self) -> list[bytes]:
        """Return all complete lines, without line endings; a last line that a crash cut off is left out."""

    @abstractmethod
    def append(self, content: bytes) -> None:
        """Append complete lines; they are durable when this returns."""

    @abstractmethod
    def rewrite(self, lines: Sequence[bytes]) -> None:
        """Replace all lines."""

    @abstractmethod
    def check_not_moved(self) -> None:
        """Raise a `StorageError` if the run was moved or removed."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the journal."""


def moved_error(root: object) -> StorageError:
    """Return the error for a run that was moved or removed."""
    return StorageError(f"{root} was moved or removed during the run. Start the run again")


class FileJournal(Journal):
    """A journal in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None

    def __str__(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def has_lines(self) -> bool:
        return is_regular(self.path) and any(True for _ in self._lines())

    def lines(self) -> list[bytes]:
        try:
            return list(self._lines())
        except FileNotFoundError:
            return []

    def _lines(self) -> Iterator[bytes]:
        descriptor = open_regular(self.path)
        with os.fdopen(descriptor, "rb") as file:
            check_size(self.path, os.fstat(descriptor).st_size, MAX_LEDGER_BYTES)
            while line := file.readline(MAX_LINE_BYTES):
                if line.endswith(b"\n"):
                    yield line.removesuffix(b"\n")
                elif len(line) == MAX_LINE_BYTES:
                    raise RefusedError(
                        f"{self.path} has a line of more than {MAX_LINE_BYTES:,} bytes: another program changed the "
                        "file. Restore it from a backup"
                    )

    def append(self, content: bytes) -> None:
        file = self._file = self._file or self._open()
        self.check_not_moved()
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)  # so that no incomplete line is left
            raise

    def rewrite(self, lines: Sequence[bytes]) -> None:
        write_whole(self.path, b"".join(line + b"\n" for line in lines))

    def check_not_moved(self) -> None:
        try:
            is_unmoved = self._file is None or self.path.lstat().st_ino == os.fstat(self._file.fileno()).st_ino
        except OSError:
            is_unmoved = False
        if not is_unmoved:
            raise moved_error(self.path.parent)

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        """Open the file to append after the last complete line; unbuffered, so that each write reports its errors."""
        new = 0 if self.exists() else os.O_CREAT | os.O_EXCL
        file = FileIO(open_regular(self.path, os.O_RDWR | new), "r+")
        file.truncate(sum(len(line) + 1 for line in self.lines()))
        sync_folder(self.path.parent)
        return file
