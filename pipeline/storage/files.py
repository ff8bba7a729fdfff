"""Small files, written whole or not at all."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import get_native_id

PARTIAL = ".partial"
"""How names of files end that are being written; zarr uses the same. A crash may leave some, which are no one's."""


def write_whole(
    path: Path,
    content: str | bytes | Iterator[bytes | memoryview],
    sync: bool = True,
    before_replace: Callable[[], None] | None = None,
) -> None:
    """Replace a file so that no reader, and no crash, ever finds half of it.

    Parameters
    ----------
    content
        All of it, or its parts.
    sync
        Whether it has to outlive a power cut. What a digest guards can do without.
    before_replace
        Called once the content is written and before it takes its place; what it raises leaves the file as it was.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{get_native_id()}{PARTIAL}")
    try:
        with temporary.open("wb") as file:
            file.writelines(_parts(content))
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if before_replace is not None:
            before_replace()
        temporary.replace(path)
        if sync:
            sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _parts(content: str | bytes | Iterator[bytes | memoryview]) -> Iterable[bytes | memoryview]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


def sync_folder(folder: Path) -> None:
    """Let the names in a folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def quoted(place: object) -> str:
    """A path or an address as a shell takes it, for commands that messages suggest."""
    return shlex.quote(str(place))
