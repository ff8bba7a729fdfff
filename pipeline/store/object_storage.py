"""Store a run in an object store: each file is one object, which is never partly written."""

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
from kernel_pipeline.store.object_store import SHORT_RETRY, ArrayStore, Connection, as_file_errors, status_of
from kernel_pipeline.store.paths import CONFIG
from kernel_pipeline.store.regular_files import MAX_FILE_BYTES, check_size
from kernel_pipeline.store.storage import Storage

T = TypeVar("T")

# Maximum numbers of concurrent requests. Small ones mostly wait for the server; large ones read whole objects.
MAX_SMALL_REQUESTS = 64
MAX_LARGE_REQUESTS = 8
# How long and how often a put that must not replace an object is retried.
CREATE_TIMEOUT_S = 180.0
CREATE_RETRY_INTERVAL_S = 1.0


class ObjectStorage(Storage):
    """A prefix in a bucket; keys are relative to it."""

    verify_writes = False
    seconds_to_trust_lock = 1.0

    def __init__(self, s3_address: S3Address, connection: Connection | None = None) -> None:
        self._s3_address = s3_address
        self._connection = connection or Connection.from_environment()
        self._store = self._connection.open(s3_address.bucket, s3_address.prefix)

    def __reduce__(self) -> tuple[Callable[[str], Storage], tuple[str]]:
        return _opened, (self.address,)

    @property
    def address(self) -> str:
        return str(self._s3_address)

    def read(self, key: str, limit: int = MAX_FILE_BYTES) -> bytes:
        return self.read_tagged(key, limit)[0]

    def read_tagged(self, key: str, limit: int = MAX_FILE_BYTES) -> tuple[bytes, str]:
        """Return the content of a file and its current tag, which `replace` needs."""
        with self._as_file_errors(key):
            found = obstore.get(self._store, key)
            check_size(f"{self}/{key}", found.meta["size"], limit)
            return bytes(found.bytes()), found.meta["e_tag"] or ""

    def read_many(self, keys: Sequence[str]) -> list[bytes | None]:
        return _map_concurrently(self._read_if_exists, keys, MAX_SMALL_REQUESTS)

    def _read_if_exists(self, key: str) -> bytes | None:
        try:
            return self.read(key)
        except (FileNotFoundError, RefusedError):
            return None

    def write(self, key: str, content: str | bytes | Iterator[bytes], sync: bool = True) -> None:
        with self._as_file_errors(key):
            obstore.put(self._store, key, content.encode() if isinstance(content, str) else content)

    def create(self, key: str, content: bytes) -> bool:
        """Write a file unless one with other content exists, and return whether the file has this content now.

        A put whose response is lost may have succeeded. It is retried, and then finds its own content.
        """
        end = time.monotonic() + CREATE_TIMEOUT_S
        while True:
            try:
                with self._as_file_errors(key):
                    obstore.put(self._store, key, content, mode="create", use_multipart=False)
                return True
            except FileExistsError:
                with suppress(FileNotFoundError):  # removed in the meantime, so the next put may succeed
                    return self.read(key) == content
            except UnreachableError as error:
                if not error.may_be_temporary or time.monotonic() > end:
                    raise
                time.sleep(CREATE_RETRY_INTERVAL_S)

    def replace(self, key: str, content: bytes, tag: str) -> bool:
        """Replace a file if it has not changed since its tag was read, and return whether it was replaced."""
        try:
            with self._as_file_errors(key):
                obstore.put(self._store, key, content, mode={"e_tag": tag}, use_multipart=False)
        except FileNotFoundError:
            return False
        except FileExistsError:
            with suppress(FileNotFoundError):
                return self.read(key) == content  # true for a put whose response was lost and which was retried
            return False
        return True

    def exists(self, key: str | None = None) -> bool:
        if key is None:
            return any(True for _ in self.keys(""))
        try:
            with self._as_file_errors(key):
                obstore.head(self._store, key)
        except FileNotFoundError:
            return False
        return True

    def remove(self, key: str) -> None:
        with self._as_file_errors(key):
            obstore.delete(self._store, key)

    def remove_directory(self, key: str) -> None:
        """Do nothing: an object store has no folders."""

    def remove_files(self, folder: str, is_own: Callable[[str], bool]) -> list[str]:
        keys = list(self.keys(folder))
        with self._as_file_errors(folder):
            obstore.delete(self._store, [key for key in keys if is_own(key)])
        return [key for key in keys if not is_own(key)]

    def names(self) -> Iterator[str]:
        # From the keys of objects: some stores also list prefixes that have become empty.
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
            if is_chunk(key) and not full:
                return self._quick_digest(key)
            return self._content_digest(key, expected.get(key, "") if expected else "")

        found = _map_concurrently(digest, wanted, MAX_LARGE_REQUESTS if full else MAX_SMALL_REQUESTS)
        return dict(zip(wanted, found, strict=True))

    def _content_digest(self, key: str, expected: str) -> str:
        try:
            with self._as_file_errors(key):
                found = obstore.get(self._store, key)
                size = found.meta["size"]
                if is_unexpected(size, expected):
                    return f"{DAMAGED}:{size}"
                return digest_of(map(bytes, found.stream(BLOCK_BYTES)), is_chunk(key))
        except FileNotFoundError:
            return ""

    def _quick_digest(self, key: str) -> str:
        try:
            with self._as_file_errors(key):
                return self._end_digest(key)
        except FileNotFoundError:
            return ""

    def _end_digest(self, key: str) -> str:
        try:
            found = obstore.get(self._store, key, options={"range": {"suffix": CHECKSUM_BYTES}})
        except GenericError as error:
            if status_of(error) == 416:  # range not satisfiable: the object is empty
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
        store = self._connection.open(self._s3_address.bucket, self._s3_address.prefix, SHORT_RETRY)
        try:
            with self._as_file_errors():
                next(iter(obstore.list(store)), None)
        except UnreachableError as error:
            hint = "; check AWS_ENDPOINT_URL, if it is set" if error.may_be_temporary else ""
            raise RefusedError(f"{self} cannot be used: {error.strerror}{hint}. Then try again") from None

    def check_usable(self) -> None:
        """Do nothing: taking the lock, before anything else is written, shows whether the store is writable."""

    def make(self) -> None:
        """Do nothing: an object store has no folders."""

    def free_bytes(self) -> None:
        return None

    def children(self) -> list["ObjectStorage"]:
        with self._as_file_errors():
            names = sorted(obstore.list_with_delimiter(self._store)["common_prefixes"])
        above = f"{self._s3_address.prefix}/" if self._s3_address.prefix else ""
        return [ObjectStorage(S3Address(self._s3_address.bucket, f"{above}{name}"), self._connection) for name in names]

    def last_change(self) -> float:
        finished = [when for _, _, when in self._list(SEGMENTS)]
        if finished:
            return max(finished)
        with self._as_file_errors(CONFIG):
            return obstore.head(self._store, CONFIG)["last_modified"].timestamp()

    def remove_temporary_files(self, folders: Sequence[str]) -> None:
        """Do nothing: objects are never partly written."""

    def logs(self) -> ScratchLogs:
        return ScratchLogs(self)

    def _list(self, folder: str) -> Iterator[tuple[str, int, float]]:
        """Yield the key, size and modification time of each file below a folder."""
        with self._as_file_errors(folder):
            for batch in obstore.list(self._store, folder.rstrip("/") or None):
                for item in batch:
                    yield item["path"], item["size"], item["last_modified"].timestamp()

    def _as_file_errors(self, key: str = "") -> AbstractContextManager[None]:
        return as_file_errors(f"{self}/{key}".rstrip("/"))


@cache
def _opened(address: str) -> Storage:
    """Open an unpickled storage; storages with the same address share their connections."""
    return storage_at(address)


def _map_concurrently(function: Callable[[str], T], keys: Sequence[str], max_requests: int) -> list[T]:
    with ThreadPoolExecutor(min(max_requests, len(keys) or 1)) as pool:
        return list(pool.map(function, keys))
