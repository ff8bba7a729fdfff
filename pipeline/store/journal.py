"""Lines that are only ever added, each of which counts once it is on the disk."""

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
    """Lines in order. One process alone adds to it."""

    @abstractmethod
    def __str__(self) -> str:
        """Where it is, for messages."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether it was ever begun, be it without a line."""

    @abstractmethod
    def has_lines(self) -> bool:
        """Whether it has a line."""

    @abstractmethod
    def lines(self) -> list[bytes]:
        """All lines, without their ends. What a crash tore off is none."""

    @abstractmethod
    def append(self, content: bytes) -> None:
        """Add whole lines; when this returns, they last."""

    @abstractmethod
    def rewrite(self, lines: Sequence[bytes]) -> None:
        """Put other lines in the place of all."""

    @abstractmethod
    def check_place(self) -> None:
        """Refuse to go on if it is not where it was: someone moved or removed the run."""

    @abstractmethod
    def close(self) -> None:
        """Let it go."""


def moved(root: object) -> StorageError:
    """For a run that is not where it was."""
    return StorageError(f"{root} was moved or removed while the run went on. Start the run again")


class FileJournal(Journal):
    """The lines of one file."""

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
                        f"{self.path} has a line of more than {MAX_LINE_BYTES:,} bytes: something else changed the "
                        "file. Restore it from a copy"
                    )

    def append(self, content: bytes) -> None:
        file = self._file = self._file or self._open()
        self.check_place()
        end = file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError:
            os.ftruncate(file.fileno(), end)  # what did not fit
            raise

    def rewrite(self, lines: Sequence[bytes]) -> None:
        write_whole(self.path, b"".join(line + b"\n" for line in lines))

    def check_place(self) -> None:
        try:
            in_place = self._file is None or self.path.lstat().st_ino == os.fstat(self._file.fileno()).st_ino
        except OSError:
            in_place = False
        if not in_place:
            raise moved(self.path.parent)

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _open(self) -> FileIO:
        """Open to append, behind the last whole line; without a buffer, which a full disk would leave half-written."""
        new = 0 if self.exists() else os.O_CREAT | os.O_EXCL
        file = FileIO(open_regular(self.path, os.O_RDWR | new), "r+")
        file.truncate(sum(len(line) + 1 for line in self.lines()))
        sync_folder(self.path.parent)
        return file
