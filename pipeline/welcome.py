"""What workers have to be before they get work, wherever they came from, and how they are left."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from cluster import Cluster
from cluster.errors import ClusterError
from cluster.setup import WorkerSetup
from cluster.versions import check_versions
from pipeline.store import RunStore
from pipeline.worker import sees

SECONDS_TO_FORGET = 5


class Welcome:
    """Checks workers as they come, and sets them up; `close` lets those that stay forget it."""

    def __init__(self, cluster: Cluster, store: RunStore, witness: tuple[str, str], logs: Path) -> None:
        self._client, self._store, self._stays = cluster.client, store, cluster.stays
        self._key, self._digest = witness
        self._setup = WorkerSetup(str(logs.absolute()))
        self._is_set_up = False

    def __call__(self, workers: Collection[str]) -> None:
        """Refuse workers with other versions, or that do not see the arrays of the run."""
        check_versions(self._client, workers)
        seen = self._client.run(sees, self._store, self._key, workers=list(workers), on_error="ignore")
        blind = sorted(worker for worker, (digest, _) in seen.items() if digest != self._digest)
        if blind:
            reason = seen[blind[0]][1] or f"{self._key} is not there"
            raise ClusterError(
                f"{len(blind)} of {len(workers)} workers do not see the arrays in {self._store.root}: {blind[0]} says "
                f"that {reason}. Give --out on a file system that workers share, or in an object store that they may "
                "read and write (--out s3://BUCKET/PREFIX)"
            )
        if not self._is_set_up:
            self._client.register_plugin(self._setup)  # those that come later get it too
            self._is_set_up = True

    def close(self) -> None:
        """Take from workers that stay what they were set up with; those that do not answer are past caring."""
        scheduler = self._client.scheduler  # None once the connection is given up
        if self._stays and self._is_set_up and scheduler is not None:
            with suppress(OSError):
                forget = scheduler.unregister_worker_plugin
                self._client.sync(forget, name=self._setup.name, callback_timeout=SECONDS_TO_FORGET)
