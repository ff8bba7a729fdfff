"""Logs of a run in an object store: a log grows line by line and an object does not, so they wait in a folder here."""

import hashlib
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.store.logs import Logs
from kernel_pipeline.store.paths import LOGS

if TYPE_CHECKING:
    from kernel_pipeline.store.object_storage import ObjectStorage

MAX_BYTES = 16 << 20
"""Of one log file; what is older than the last so many bytes, or twice as many, is let go."""
OLDER = ".older"


class ScratchLogs(Logs):
    """A folder that follows from the address of the run, so that the next run finds what a killed one left."""

    def __init__(self, root: "ObjectStorage") -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        digest = hashlib.sha256(root.address.encode()).hexdigest()[:16]
        super().__init__(cache / "kernel-pipeline" / f"{LOGS}-{digest}")
        self._root = root

    def trim(self) -> None:
        for path in self.folder.iterdir():
            if path.suffix != OLDER and path.stat().st_size > MAX_BYTES:
                shutil.copyfile(path, path.with_name(path.name + OLDER))
                os.truncate(path, 0)  # who writes it goes on at its end, wherever that is

    def keep(self) -> None:
        """Send them to a folder of their own, so that those of earlier runs stay; what cannot be sent waits here."""
        when = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        with suppress(OSError):
            for path in sorted(filter(Path.is_file, self.folder.iterdir())):  # keys of a killed run are in a folder
                self._root.write(f"{LOGS}/{when}/{path.name}", path.read_bytes())
            shutil.rmtree(self.folder)
        with suppress(OSError):
            self.folder.parent.rmdir()  # unless another run has its logs there
