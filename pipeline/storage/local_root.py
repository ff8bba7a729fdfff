"""A run in a folder of this machine."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.errors import ELSEWHERE, RefusedError
from pipeline.storage import lock
from pipeline.storage.access import Access
from pipeline.storage.digests import chunk_digest, file_digest, is_chunk
from pipeline.storage.files import PARTIAL, write_whole
from pipeline.storage.journal import FileJournal
from pipeline.storage.logs import Logs
from pipeline.storage.names import CONFIG, LEDGER, LOGS
from pipeline.storage.root import Root

if TYPE_CHECKING:
    from zarr.storage import StorePath


class LocalRoot(Root):
    """A folder; keys are paths in it."""

    reads_back = True
    seconds_to_trust_lock = 0.0

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __reduce__(self) -> tuple[type["LocalRoot"], tuple[str]]:
        return LocalRoot, (self.address,)

    @property
    def address(self) -> str:
        return str(self.path.absolute())

    def __str__(self) -> str:
        return str(self.path)  # as it was given

    def read(self, key: str) -> bytes:
        return (self.path / key).read_bytes()

    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        path = self.path / key
        if not path.parent.is_dir():
            self.path.stat()  # a run directory that vanished is not made anew
            path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, sync)

    def exists(self, key: str) -> bool:
        return (self.path / key).is_file()

    def remove(self, key: str) -> None:
        (self.path / key).unlink(missing_ok=True)

    def make_way(self, key: str) -> None:
        if (self.path / key).is_dir():
            shutil.rmtree(self.path / key)

    def remove_folder(self, folder: str) -> None:
        shutil.rmtree(self.path / folder, ignore_errors=True)

    def names(self) -> list[str]:
        return [path.name for path in self.path.iterdir()] if self.path.exists() else []

    def keys(self, folder: str) -> Iterator[str]:
        top = len(str(self.path)) + 1
        for place, _, names in os.walk(f"{self.path}/{folder}"):
            for name in names:
                yield f"{place[top:]}/{name}"

    def size(self, folder: str = "") -> int:
        size = 0
        for place, _, names in os.walk(self.path / folder):
            for name in names:
                with suppress(FileNotFoundError):  # a run may go on there
                    size += Path(place, name).stat(follow_symlinks=False).st_size
        return size

    def digests(self, keys: Iterable[str], full: bool = True) -> dict[str, str]:
        top = str(self.path)
        return {
            key: chunk_digest(f"{top}/{key}", full) if is_chunk(key) else file_digest(f"{top}/{key}") for key in keys
        }

    def arrays(self, group: str, access: Access) -> "StorePath":
        from zarr.storage import StorePath  # heavy, and most commands need none of it

        from pipeline.storage.folder_store import FolderStore

        self.path.stat()  # zarr would make a run directory anew that vanished
        return StorePath(FolderStore(self.path, access), group)

    def journal(self) -> FileJournal:
        return FileJournal(self.path / LEDGER)

    def locked(self) -> AbstractContextManager[str]:
        return lock.locked(self.path)

    def holder(self) -> lock.Holder | None:
        return lock.holder(self.path)

    def unlock(self) -> lock.Holder | None:
        return lock.unlock(self.path)

    def is_there(self) -> bool:
        return self.path.is_dir()

    def check_access(self) -> None:
        """What is wrong with a folder shows when it is used."""

    def check_usable(self) -> None:
        try:
            self.path.stat()
        except FileNotFoundError:
            pass
        except OSError as error:
            raise RefusedError(f"{self} cannot be used: {error.strerror}. {ELSEWHERE}") from None
        if self.path.exists() and not self.path.is_dir():
            raise RefusedError(f"{self} is a file, not a directory. {ELSEWHERE}")
        try:
            with tempfile.TemporaryFile(dir=self._nearest()):
                pass
        except OSError as error:
            raise RefusedError(f"{self._nearest()} cannot be written to: {error.strerror}. {ELSEWHERE}") from None

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def free_bytes(self) -> int:
        disk = os.statvfs(self._nearest())
        return disk.f_bavail * disk.f_frsize

    def inner(self) -> list["LocalRoot"]:
        return [LocalRoot(path) for path in sorted(self.path.iterdir())]

    def last_change(self) -> float:
        ledger = self.path / LEDGER
        return (ledger if ledger.exists() else self.path / CONFIG).stat().st_mtime

    def drop_partial(self, folders: Sequence[str]) -> None:
        own = [path.name for path in self.path.iterdir() if path.is_file()]
        for key in (*own, *(key for folder in folders for key in self.keys(folder))):
            if key.endswith(PARTIAL):
                self.remove(key)

    def logs(self) -> Logs:
        return Logs(self.path / LOGS)

    def _nearest(self) -> Path:
        """The folder itself, or the nearest one above it that is there."""
        return next(folder for folder in (self.path, *self.path.absolute().parents) if folder.exists())
