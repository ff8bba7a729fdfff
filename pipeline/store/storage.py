"""Define the interface to the storage of a run: a folder, or a prefix in an object store, whose files have keys."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from kernel_pipeline.store.access import Access
from kernel_pipeline.store.journal import Journal
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.logs import Logs
from kernel_pipeline.store.regular_files import MAX_FILE_BYTES

if TYPE_CHECKING:
    from zarr.storage import StorePath


class Storage(ABC):
    """Storage of one run, or of its arrays. Keys are relative to it, their parts separated by slashes.

    A storage is pickled as its address, and each process opens it with the settings of its own environment.
    """

    verify_writes: ClassVar[bool]
    """Whether chunks are read back in full after each write, which is cheap on a local disk."""
    seconds_to_trust_lock: ClassVar[float]
    """Seconds before the lock is read again for the next write; 0 if reading it is cheap."""

    def absolute(self) -> "Storage":
        """Return the same storage, which does not depend on the current folder of the process."""
        return self

    @property
    @abstractmethod
    def address(self) -> str:
        """Return the address, which is valid in any process."""

    def __str__(self) -> str:
        return self.address

    @abstractmethod
    def read(self, key: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a file.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        RefusedError
            If the file has more than `limit` bytes.
        """

    @abstractmethod
    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the contents of several files; None for one that does not exist, is too large or is not regular.

        An object store that cannot be reached raises an `UnreachableError`; in a folder, I/O errors give None as well.
        """

    @abstractmethod
    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        """Replace a file atomically: it is never partly written, even after a crash.

        Parameters
        ----------
        content
            The whole content, or an iterator over its parts, for files that need not fit in memory.
        sync
            Whether the file must survive a power failure. Files that are verified by a digest need not.
        """

    @abstractmethod
    def exists(self, key: str | None = None) -> bool:
        """Return whether a file exists; without a key, whether the folder exists or the prefix contains an object."""

    @abstractmethod
    def remove(self, key: str) -> None:
        """Remove a file, if it exists."""

    @abstractmethod
    def remove_directory(self, key: str) -> None:
        """Remove empty folders where a file is to be written; raise an error for a folder that contains files."""

    @abstractmethod
    def remove_files(self, folder: str, is_own: Callable[[str], bool]) -> list[str]:
        """Remove the files below a folder for which `is_own` is true, and empty folders; return the other keys."""

    @abstractmethod
    def names(self) -> Iterable[str]:
        """Return the names of the files and folders at the top level; names may be repeated."""

    @abstractmethod
    def keys(self, folder: str) -> Iterator[str]:
        """Yield the keys of all files below a folder, and of links, which are not followed."""

    @abstractmethod
    def size(self, folder: str = "") -> int:
        """Return the total size in bytes of all files below a folder, or of all files."""

    @abstractmethod
    def digests(
        self, keys: Iterable[str], full: bool = True, expected: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """Return the digests of stored files, by key; empty for files that do not exist.

        Parameters
        ----------
        full
            Whether to verify the content of chunks. Otherwise only their sizes and stored checksums are read.
        expected
            Digests in the ledger, by key. Large files of other sizes are not read.
        """

    @abstractmethod
    def arrays(self, group: str, access: Access) -> "StorePath":
        """Return a group of arrays for zarr, whose reads and writes of chunks go through `access`."""

    @abstractmethod
    def journal(self) -> Journal:
        """Return the journal of the ledger."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[str]:
        """Hold the lock, and yield its token; raise a `RefusedError` if another process holds it."""

    @abstractmethod
    def holder(self) -> Holder | None:
        """Return the holder of the lock; None if it is free or its holder is known to have ended."""

    @abstractmethod
    def unlock(self) -> Holder | None:
        """Remove the lock that a dead run left, and return its holder; raise an error if the holder is alive."""

    @abstractmethod
    def check_access(self) -> None:
        """Raise a `RefusedError` if the storage cannot be reached."""

    @abstractmethod
    def check_usable(self) -> None:
        """Raise a `RefusedError` if the storage is known not to be writable."""

    @abstractmethod
    def make(self) -> None:
        """Create the folder, if the storage has folders."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Return the free space in bytes; None if it is unlimited."""

    @abstractmethod
    def children(self) -> "Sequence[Storage]":
        """Return the storages one level below, each of which may contain a run."""

    @abstractmethod
    def last_change(self) -> float:
        """Return when the ledger, or the config if there is no ledger, last changed, in seconds since the epoch."""

    @abstractmethod
    def remove_temporary_files(self, folders: Sequence[str]) -> None:
        """Remove the temporary files that killed writers left behind, at the top level and below some folders."""

    @abstractmethod
    def logs(self) -> Logs:
        """Return the logs of the run."""
