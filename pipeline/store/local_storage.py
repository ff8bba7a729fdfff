"""Store a run in a local folder."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.errors import CHOOSE_DIRECTORY, RefusedError
from kernel_pipeline.store import lock
from kernel_pipeline.store.access import Access
from kernel_pipeline.store.digests import IRREGULAR, chunk_digest, file_digest, is_chunk
from kernel_pipeline.store.files import is_temporary, make_private, write_whole
from kernel_pipeline.store.journal import FileJournal
from kernel_pipeline.store.logs import Logs
from kernel_pipeline.store.paths import CONFIG, LEDGER, LOGS
from kernel_pipeline.store.regular_files import (
    MAX_FILE_BYTES,
    IrregularError,
    first_link,
    is_regular,
    path_inside,
    read_regular,
)
from kernel_pipeline.store.storage import Storage

if TYPE_CHECKING:
    from zarr.storage import StorePath


class LocalStorage(Storage):
    """A local folder; keys are paths in it. Links below it are not followed, and only regular files are opened."""

    verify_writes = True
    seconds_to_trust_lock = 0.0

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __reduce__(self) -> tuple[type["LocalStorage"], tuple[str]]:
        return LocalStorage, (self.address,)

    @property
    def address(self) -> str:
        return str(self.path.absolute())

    def __str__(self) -> str:
        return str(self.path)  # as it was given

    def absolute(self) -> "LocalStorage":
        return LocalStorage(self.address)

    def read(self, key: str, limit: int = MAX_FILE_BYTES) -> bytes:
        return read_regular(self._inside(key), limit)

    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return list(map(self._read_if_exists, keys))

    def _read_if_exists(self, key: str) -> bytes | None:
        try:
            return self.read(key)
        except (OSError, RefusedError):
            return None

    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        path = self._inside(key)
        if not path.parent.is_dir():
            self.path.stat()  # raises an error for a deleted run directory, which must not be recreated
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, sync)

    def exists(self, key: str | None = None) -> bool:
        return self.path.is_dir() if key is None else is_regular(self._inside(key))

    def remove(self, key: str) -> None:
        self._inside(key).unlink(missing_ok=True)

    def remove_directory(self, key: str) -> None:
        path = self._inside(key)
        self._remove_empty(key)
        if path.is_dir() and not path.is_symlink():
            raise IrregularError(path, "a folder that contains files", "a run writes a file of this name")

    def remove_files(self, folder: str, is_own: Callable[[str], bool]) -> list[str]:
        left = []
        for key in list(self.keys(folder)):
            if is_own(key):
                self.remove(key)
            else:
                left.append(key)
        self._remove_empty(folder.rstrip("/"))
        return left

    def _remove_empty(self, folder: str) -> None:
        """Remove a folder and its subfolders if they are empty."""
        if not first_link(self.path, folder):
            for parent, _, _ in os.walk(self.path / folder, topdown=False):
                with suppress(OSError):
                    Path(parent).rmdir()

    def names(self) -> list[str]:
        return [path.name for path in self.path.iterdir()] if self.path.exists() else []

    def keys(self, folder: str) -> Iterator[str]:
        if link := first_link(self.path, folder.rstrip("/")):
            yield link
            return
        top = len(str(self.path)) + 1
        for parent, inner, names in os.walk(f"{self.path}/{folder}"):
            for name in (*names, *(name for name in inner if Path(parent, name).is_symlink())):
                yield f"{parent[top:]}/{name}".replace("//", "/")

    def size(self, folder: str = "") -> int:
        size = 0
        if first_link(self.path, folder.rstrip("/")):
            return size
        for parent, _, names in os.walk(self.path / folder):
            for name in names:
                with suppress(FileNotFoundError):  # a run in progress may have removed it
                    size += Path(parent, name).stat(follow_symlinks=False).st_size
        return size

    def digests(
        self, keys: Iterable[str], full: bool = True, expected: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        top, known = str(self.path), set[str]()

        def digest(key: str) -> str:
            recorded = expected.get(key, "") if expected else ""
            try:
                path = path_inside(top, key, known)
            except IrregularError:
                return IRREGULAR
            return chunk_digest(path, full, recorded) if is_chunk(key) else file_digest(path, recorded)

        return {key: digest(key) for key in keys}

    def arrays(self, group: str, access: Access) -> "StorePath":
        from zarr.storage import StorePath

        from kernel_pipeline.store.folder_store import FolderStore  # imports zarr, which most commands do not need

        return StorePath(FolderStore(self.path, access), group)

    def journal(self) -> FileJournal:
        return FileJournal(self.path / LEDGER)

    def locked(self) -> AbstractContextManager[str]:
        return lock.locked(self.path)

    def holder(self) -> lock.Holder | None:
        return lock.holder(self.path)

    def unlock(self) -> lock.Holder | None:
        return lock.unlock(self.path)

    def check_access(self) -> None:
        """Do nothing: errors of a local folder are raised when it is used."""

    def check_usable(self) -> None:
        try:
            self.path.stat()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise RefusedError(f"{self} cannot be used: {error.strerror}. {CHOOSE_DIRECTORY}") from None
        if self.path.exists() and not self.path.is_dir():
            raise RefusedError(f"{self} is a file, not a directory. {CHOOSE_DIRECTORY}")
        try:
            with tempfile.TemporaryFile(dir=self._nearest()):
                pass
        except OSError as error:
            raise RefusedError(
                f"{self._nearest()} cannot be written to: {error.strerror}. {CHOOSE_DIRECTORY}"
            ) from None

    def make(self) -> None:
        make_private(self.path)

    def free_bytes(self) -> int:
        disk = os.statvfs(self._nearest())
        return disk.f_bavail * disk.f_frsize

    def children(self) -> list["LocalStorage"]:
        return [LocalStorage(path) for path in sorted(self.path.iterdir())]

    def last_change(self) -> float:
        ledger = self.path / LEDGER
        return (ledger if os.path.lexists(ledger) else self.path / CONFIG).lstat().st_mtime

    def remove_temporary_files(self, folders: Sequence[str]) -> None:
        own = [path.name for path in self.path.iterdir() if is_regular(path)]
        for key in (*own, *(key for folder in folders for key in self.keys(folder))):
            if is_temporary(key.rpartition("/")[2]):
                self.remove(key)

    def logs(self) -> Logs:
        folder = self.path / LOGS
        if folder.is_symlink():
            raise IrregularError(folder, "a link")
        # Other programs that write logs there, such as batch systems, would follow links.
        for path in folder.iterdir() if folder.is_dir() else ():
            if not (is_regular(path) or stat.S_ISDIR(path.lstat().st_mode)):
                raise IrregularError(path, "a link" if path.is_symlink() else "not a regular file")
        return Logs(folder)

    def _inside(self, key: str) -> Path:
        return Path(path_inside(self.path, key))

    def _nearest(self) -> Path:
        """Return the folder itself, or its nearest parent that exists."""
        return next(folder for folder in (self.path, *self.path.absolute().parents) if folder.exists())
