"""Write the logs of a run in an object store to a local folder first, since objects cannot be appended to."""

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

MAX_LOG_BYTES = 16 << 20
"""Size at which a log file is moved to its `.older` file, so at most twice as many bytes are kept per log."""
OLDER = ".older"


class ScratchLogs(Logs):
    """Logs in a cache folder named after the address of the run, where the next run finds those of a killed one."""

    def __init__(self, root: "ObjectStorage") -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        digest = hashlib.sha256(root.address.encode()).hexdigest()[:16]
        super().__init__(cache / "kernel-pipeline" / f"{LOGS}-{digest}")
        self._root = root

    def trim(self) -> None:
        for path in self.folder.iterdir():
            if path.suffix != OLDER and path.stat().st_size > MAX_LOG_BYTES:
                shutil.copyfile(path, path.with_name(path.name + OLDER))
                os.truncate(path, 0)  # logs are opened for appending, so their writers continue at the new end

    def keep(self) -> None:
        """Upload the logs to a folder named after the current time; if this fails, they stay in the local folder."""
        when = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        with suppress(OSError):
            # files only: the TLS keys of a killed run are in a subfolder and must not be uploaded
            for path in sorted(filter(Path.is_file, self.folder.iterdir())):
                self._root.write(f"{LOGS}/{when}/{path.name}", path.read_bytes())
            shutil.rmtree(self.folder)
        with suppress(OSError):
            self.folder.parent.rmdir()  # unless another run has its logs there
