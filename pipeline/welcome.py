"""What workers have to be before they get work, wherever they came from."""

from collections.abc import Collection
from pathlib import Path

from cluster import Cluster
from cluster.errors import ClusterError
from cluster.setup import WorkerSetup
from cluster.versions import check_versions
from pipeline.store import RunStore
from pipeline.worker import sees


class Welcome:
    """Checks workers as they come, and sets them up."""

    def __init__(self, cluster: Cluster, store: RunStore, witness: tuple[str, str], logs: Path) -> None:
        self._client, self._store, self._logs = cluster.client, store, logs
        self._key, self._digest = witness
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
            self._client.register_plugin(WorkerSetup(str(self._logs)))  # those that come later get it too
            self._is_set_up = True
