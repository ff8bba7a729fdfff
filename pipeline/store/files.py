"""Small files, written whole or not at all."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from secrets import token_hex

PARTIAL = ".partial"
"""How names of files end that are being written; zarr uses the same. A crash may leave some, which are no one's."""
# Those of `write_whole`, and of zarr, by which earlier versions wrote chunks; not a user's own "thesis.partial".
TEMPORARY = re.compile(rf"(?:\..+\.[0-9a-f]+|.*\.[0-9a-f]{{32}}){re.escape(PARTIAL)}")

PRIVATE = 0o700
"""The mode of a run directory and of its logs when they are made."""


def is_temporary(name: str) -> bool:
    """Return whether a file has the name of one that a writer which was killed left half-written.

    >>> is_temporary(".rows.csv.1f.partial"), is_temporary("thesis.partial")
    (True, False)
    """
    return TEMPORARY.fullmatch(name) is not None


def write_whole(
    path: Path,
    content: str | bytes | Iterator[bytes],
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
    temporary = path.with_name(f".{path.name}.{token_hex(8)}{PARTIAL}")
    try:
        with temporary.open("xb") as file:  # not through a link that someone put there
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


def _parts(content: str | bytes | Iterator[bytes]) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone can enter, whatever the umask says; one that is there keeps its mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=PRIVATE, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Let the names in a folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def quoted(place: object) -> str:
    """A path or an address as a shell takes it, for commands that messages suggest.

    >>> quoted("my runs"), quoted(os.fsdecode(b"caf\\xe9"))
    ("'my runs'", "$'caf\\\\xe9'")
    """
    text = str(place)
    if text.isprintable():
        return shlex.quote(text)
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in os.fsencode(text))
    return f"$'{''.join(escaped)}'"  # what no terminal shows, such as bytes that are not UTF-8, as bash reads it
