"""Turn errors of a disk or an object store into clear messages."""

from collections.abc import Iterator
from contextlib import contextmanager

from kernel_pipeline.errors import CHECK_DISK, DISK_IS_FULL, StorageError, UnreachableError
from kernel_pipeline.run.driver import Run
from kernel_pipeline.store.digests import size_of
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import format_bytes


@contextmanager
def storage_errors(run: Run) -> Iterator[None]:
    """Raise a clear `StorageError` if the disk is full or missing, or if an object store does not answer."""
    try:
        yield
    except UnreachableError as error:
        raise StorageError(
            f"{error.filename}: {error.strerror}. All finished tasks are kept: once the store can be used "
            "again, the same command resumes the run"
        ) from None
    except OSError as error:
        verb = "write" if error.errno in DISK_IS_FULL else "read or write"
        what = f"cannot {verb} {error.filename or run.root}: {error.strerror}."
        if error.errno not in DISK_IS_FULL:
            raise StorageError(f"{what} All finished tasks are kept. {CHECK_DISK}") from error
        stored = sum(size_of(digest) for entry in run.finished.entries() for digest in entry.digests.values())
        needed = max(0, run.plan.disk_bytes - stored)
        raise StorageError(
            f"{what} The remaining arrays need about {format_bytes(needed)}, and {run.root} has {_free(run.root)} "
            "free. All finished tasks are kept: free some space, and the same command resumes the run"
        ) from error
    finally:
        run.ledger.close()


def _free(root: Storage) -> str:
    """Describe the free space of a storage."""
    try:
        free = root.free_bytes()
    except OSError:
        return "an unknown amount"
    return "unlimited space" if free is None else format_bytes(free)
