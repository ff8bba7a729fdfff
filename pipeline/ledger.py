"""The ledger: an append-only file of finished tasks, one JSON line each, flushed to the disk before it counts."""

import json
import os
from dataclasses import asdict
from pathlib import Path

from pipeline.errors import RefusedError
from pipeline.task import Finished


class Ledger:
    """What is finished in a run. The driver alone writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, Finished]:
        """The finished tasks by name, the latest line of each. A torn last line, from a crash, counts as absent."""
        if not self.path.exists():
            return {}
        *lines, _torn = self.path.read_bytes().split(b"\n")
        finished = {}
        for number, line in enumerate(lines, 1):
            try:
                entry = Finished(**json.loads(line))
            except (ValueError, TypeError):
                raise RefusedError(
                    f"{self.path}, line {number} is not a ledger line. The file was changed by something else; "
                    "restore it, or start over in another directory with --out"
                ) from None
            finished[entry.name] = entry
        return finished

    def append(self, entry: Finished) -> None:
        """Add a finished task; when this returns, it is on the disk."""
        line = json.dumps(asdict(entry), sort_keys=True, allow_nan=False).encode() + b"\n"
        with self.path.open("r+b" if self.path.exists() else "xb") as file:
            file.seek(0, os.SEEK_END)
            self._drop_torn_line(file.fileno())
            file.seek(0, os.SEEK_END)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _drop_torn_line(self, descriptor: int) -> None:
        """Cut off what a crash left of a line, so that the next one starts on its own."""
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            content = os.pread(descriptor, size, 0)
            os.ftruncate(descriptor, content.rfind(b"\n") + 1)
