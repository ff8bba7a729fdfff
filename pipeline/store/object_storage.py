"""A run in an object store: every file an object, whole as soon as it is there."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import TypeVar

import obstore
from obstore.exceptions import GenericError
from zarr.storage import StorePath

from kernel_pipeline.config.s3_address import S3Address
from kernel_pipeline.errors import RefusedError, UnreachableError
from kernel_pipeline.store import object_lock
from kernel_pipeline.store.access import Access
from kernel_pipeline.store.addresses import storage_at
from kernel_pipeline.store.digests import (
    BLOCK_BYTES,
    CHECKSUM_BYTES,
    DAMAGED,
    chunk_end_digest,
    digest_of,
    is_chunk,
    is_unexpected,
)
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.object_journal import SEGMENTS, SegmentJournal
from kernel_pipeline.store.object_logs import ScratchLogs
from kernel_pipeline.store.object_store import SHORT_RETRY, ArrayStore, Connection, in_words, status_of
from kernel_pipeline.store.paths import CONFIG
from kernel_pipeline.store.regular_files import MAX_FILE_BYTES, check_size
from kernel_pipeline.store.storage import Storage

T = TypeVar("T")

# Requests at once. Small ones mostly wait; of large ones each holds a chunk in memory.
SMALL_AT_ONCE = 64
LARGE_AT_ONCE = 8
# How long a put is tried again that has to find nothing there, and how soon.
SECONDS_OF_TRYING = 180.0
SECONDS_BETWEEN_TRIES = 1.0


class ObjectStorage(Storage):
    """A prefix of a bucket; keys are what follows it."""

    verify_writes = False
    seconds_to_trust_lock = 1.0

    def __init__(self, place: S3Address, connection: Connection | None = None) -> None:
        self._place = place
        self._connection = connection or Connection.from_environment()
        self._store = self._connection.open(place.bucket, place.prefix)

    def __reduce__(self) -> tuple[Callable[[str], Storage], tuple[str]]:
        return _opened, (self.address,)

    @property
    def address(self) -> str:
        return str(self._place)

    def read(self, key: str, limit: int = MAX_FILE_BYTES) -> bytes:
        return self.read_tagged(key, limit)[0]

    def read_tagged(self, key: str, limit: int = MAX_FILE_BYTES) -> tuple[bytes, str]:
        """All of a file, and the tag of what it is now, which `replace` asks for."""
        with self._in_words(key):
            found = obstore.get(self._store, key)
            check_size(f"{self}/{key}", found.meta["size"], limit)
            return bytes(found.bytes()), found.meta["e_tag"] or ""

    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return _at_once(self._read_if_there, keys, SMALL_AT_ONCE)

    def _read_if_there(self, key: str) -> bytes | None:
        try:
            return self.read(key)
        except (FileNotFoundError, RefusedError):
            return None

    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        with self._in_words(key):
            obstore.put(self._store, key, content.encode() if isinstance(content, str) else content)

    def create(self, key: str, content: bytes) -> bool:
        """Write a file unless there is one with another content, and say whether it has this content now.

        A put whose answer is lost may have been done; it is tried again, and what it then finds is its own.
        """
        end = time.monotonic() + SECONDS_OF_TRYING
        while True:
            try:
                with self._in_words(key):
                    obstore.put(self._store, key, content, mode="create", use_multipart=False)
                return True
            except FileExistsError:
                with suppress(FileNotFoundError):  # removed as we look: it may be ours the next time
                    return self.read(key) == content
            except UnreachableError as error:
                if not error.may_pass or time.monotonic() > end:
                    raise
                time.sleep(SECONDS_BETWEEN_TRIES)

    def replace(self, key: str, content: bytes, tag: str) -> bool:
        """Replace a file if it is still what it was when its tag was read, and say whether that was so."""
        try:
            with self._in_words(key):
                obstore.put(self._store, key, content, mode={"e_tag": tag}, use_multipart=False)
        except FileNotFoundError:
            return False
        except FileExistsError:
            with suppress(FileNotFoundError):
                return self.read(key) == content  # of a put whose answer was lost, and which was tried again
            return False
        return True

    def exists(self, key: str | None = None) -> bool:
        if key is None:
            return any(True for _ in self.keys(""))
        try:
            with self._in_words(key):
                obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        return True

    def remove(self, key: str) -> None:
        with self._in_words(key):
            obstore.delete(self._store, key)

    def remove_directory(self, key: str) -> None:
        """There are no folders that could stand in the way."""

    def remove_files(self, folder: str, is_own: Callable[[str], bool]) -> list[str]:
        keys = list(self.keys(folder))
        with self._in_words(folder):
            obstore.delete(self._store, [key for key in keys if is_own(key)])
        return [key for key in keys if not is_own(key)]

    def names(self) -> Iterator[str]:
        # By the objects alone: some stores also list folders that have become empty.
        return (key.partition("/")[0] for key in self.keys(""))

    def keys(self, folder: str) -> Iterator[str]:
        return (key for key, _, _ in self._list(folder))

    def size(self, folder: str = "") -> int:
        return sum(size for _, size, _ in self._list(folder))

    def digests(
        self, keys: Iterable[str], full: bool = True, expected: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        wanted = list(keys)

        def digest(key: str) -> str:
            """By the end of a chunk, of which the store also says the size; other files are read."""
            if is_chunk(key) and not full:
                return self._quick_digest(key)
            return self._content_digest(key, expected.get(key, "") if expected else "")

        found = _at_once(digest, wanted, LARGE_AT_ONCE if full else SMALL_AT_ONCE)
        return dict(zip(wanted, found, strict=True))

    def _content_digest(self, key: str, expected: str) -> str:
        try:
            with self._in_words(key):
                found = obstore.get(self._store, key)
                size = found.meta["size"]
                if is_unexpected(size, expected):
                    return f"{DAMAGED}:{size}"
                return digest_of(map(bytes, found.stream(BLOCK_BYTES)), is_chunk(key))
        except FileNotFoundError:
            return ""

    def _quick_digest(self, key: str) -> str:
        try:
            with self._in_words(key):
                return self._end_digest(key)
        except FileNotFoundError:
            return ""

    def _end_digest(self, key: str) -> str:
        try:
            found = obstore.get(self._store, key, options={"range": {"suffix": CHECKSUM_BYTES}})
        except GenericError as error:
            if status_of(error) == 416:  # an empty object has no end
                return chunk_end_digest(b"", 0)
            raise
        return chunk_end_digest(bytes(found.bytes()), found.meta["size"])

    def arrays(self, group: str, access: Access) -> StorePath:
        return StorePath(ArrayStore(self._store, access), group)

    def journal(self) -> SegmentJournal:
        return SegmentJournal(self)

    def locked(self) -> AbstractContextManager[str]:
        return object_lock.locked(self)

    def holder(self) -> Holder | None:
        return object_lock.holder(self)

    def unlock(self) -> Holder | None:
        return object_lock.unlock(self)

    def check_access(self) -> None:
        brisk = self._connection.open(self._place.bucket, self._place.prefix, SHORT_RETRY)
        try:
            with self._in_words():
                next(iter(obstore.list(brisk)), None)
        except UnreachableError as error:
            hint = "; see that AWS_ENDPOINT_URL is right, if it is set" if error.may_pass else ""
            raise RefusedError(f"{self} cannot be used: {error.strerror}{hint}. Then try again") from None

    def check_usable(self) -> None:
        """Whether it can be written to shows when its lock is taken, before all else."""

    def make(self) -> None:
        """There are no folders to make."""

    def free_bytes(self) -> None:
        return None

    def children(self) -> list["ObjectStorage"]:
        with self._in_words():
            names = sorted(obstore.list_with_delimiter(self._store)["common_prefixes"])
        above = f"{self._place.prefix}/" if self._place.prefix else ""
        return [ObjectStorage(S3Address(self._place.bucket, f"{above}{name}"), self._connection) for name in names]

    def last_change(self) -> float:
        finished = [when for _, _, when in self._list(SEGMENTS)]
        if finished:
            return max(finished)
        with self._in_words(CONFIG):
            return obstore.head(self._store, CONFIG)["last_modified"].timestamp()

    def drop_partial(self, folders: Sequence[str]) -> None:
        """No object is ever there in part."""

    def logs(self) -> ScratchLogs:
        return ScratchLogs(self)

    def _list(self, folder: str) -> Iterator[tuple[str, int, float]]:
        """Key, size and time of each file below a folder."""
        with self._in_words(folder):
            for batch in obstore.list(self._store, folder.rstrip("/") or None):
                for item in batch:
                    yield item["path"], item["size"], item["last_modified"].timestamp()

    def _in_words(self, key: str = "") -> AbstractContextManager[None]:
        return in_words(f"{self}/{key}".rstrip("/"))


@cache
def _opened(address: str) -> Storage:
    """A place that another process sent: opened once, and kept with its connections."""
    return storage_at(address)


def _at_once(work: Callable[[str], T], keys: Sequence[str], most: int) -> list[T]:
    with ThreadPoolExecutor(min(most, len(keys) or 1)) as pool:
        return list(pool.map(work, keys))
