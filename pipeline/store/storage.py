"""Where a run is kept: a folder, or a prefix of an object store. All else speaks of it by keys alone."""

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
    """The place of one run, or of its arrays. Keys are relative to it, their parts joined by slashes.

    It is sent to other processes by its address alone, and each opens it from its own environment.
    """

    verify_writes: ClassVar[bool]
    """Whether what was just written is cheap to read in full, to see that it arrived."""
    seconds_to_trust_lock: ClassVar[float]
    """For how long a look at the lock counts, before the lock is read again: 0 where that costs next to nothing."""

    @property
    @abstractmethod
    def address(self) -> str:
        """What names it in any process."""

    def __str__(self) -> str:
        return self.address

    @abstractmethod
    def read(self, key: str, limit: int = MAX_FILE_BYTES) -> bytes:
        """All of a file; a `FileNotFoundError` if there is none. One of more than `limit` bytes is refused."""

    @abstractmethod
    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """All of several files; None for one that is not there or cannot be read."""

    @abstractmethod
    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        """Replace a file so that no reader, and no crash, ever finds half of it.

        Parameters
        ----------
        content
            All of it, or its parts: what is large need not be in memory at once.
        sync
            Whether it has to outlive a power cut. What a digest guards can do without.
        """

    @abstractmethod
    def exists(self, key: str | None = None) -> bool:
        """Return whether a file exists; without a key, whether the place itself does, be it empty."""

    @abstractmethod
    def remove(self, key: str) -> None:
        """Remove a file, if there is one."""

    @abstractmethod
    def remove_directory(self, key: str) -> None:
        """Remove empty folders that stand where a file is to be written; one with files in it is refused."""

    @abstractmethod
    def remove_files(self, folder: str, is_own: Callable[[str], bool]) -> list[str]:
        """Remove the files below a folder whose keys are a run's own, and what is then empty; gives the other keys."""

    @abstractmethod
    def names(self) -> Iterable[str]:
        """The names of the files and folders right below it; some may come more than once."""

    @abstractmethod
    def keys(self, folder: str) -> Iterator[str]:
        """The keys of all files below a folder, and of links, which are not followed."""

    @abstractmethod
    def size(self, folder: str = "") -> int:
        """The bytes of all files below a folder; the whole without one."""

    @abstractmethod
    def digests(
        self, keys: Iterable[str], full: bool = True, expected: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """The digests of what is stored, by key; empty where nothing is.

        Chunks are read only if `full`; else just their sizes and stored checksums are looked at. Large files of which
        other sizes are expected are not read.
        """

    @abstractmethod
    def arrays(self, group: str, access: Access) -> "StorePath":
        """A group of arrays, as zarr opens it, with what is asked before and noted after each chunk."""

    @abstractmethod
    def journal(self) -> Journal:
        """The lines of the ledger."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[str]:
        """Hold its lock, or refuse to go on, saying who holds it; gives the token of the lock."""

    @abstractmethod
    def holder(self) -> Holder | None:
        """Who works there now, as far as can be told; a dead process of this host does not."""

    @abstractmethod
    def unlock(self) -> Holder | None:
        """Remove the lock that a dead run left; gives its holder. One that is known to live is left alone."""

    @abstractmethod
    def check_access(self) -> None:
        """Refuse a place that cannot be reached."""

    @abstractmethod
    def check_usable(self) -> None:
        """Refuse a place that cannot be written to, as far as can be told without writing there."""

    @abstractmethod
    def make(self) -> None:
        """Make the folder, where folders have to be made."""

    @abstractmethod
    def free_bytes(self) -> int | None:
        """Free space; None where it has no bound."""

    @abstractmethod
    def children(self) -> "Sequence[Storage]":
        """The places right below it, each of which may be a run's."""

    @abstractmethod
    def last_change(self) -> float:
        """When anything was last finished in a run there, in seconds of the clock."""

    @abstractmethod
    def drop_partial(self, folders: Sequence[str]) -> None:
        """Remove what writers that were killed left half-written, at the top and below some folders."""

    @abstractmethod
    def logs(self) -> Logs:
        """The logs of the run."""
