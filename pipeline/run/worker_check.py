"""What workers have to be before they get work, wherever they came from, and how they are left."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.setup import WorkerSetup
from kernel_pipeline.cluster.versions import check_versions
from kernel_pipeline.run.worker import sees
from kernel_pipeline.store.arrays import RunStore

SECONDS_TO_FORGET = 5


class Welcome:
    """Checks workers as they come, and sets them up; `close` lets those that stay forget it."""

    def __init__(self, cluster: Cluster, store: RunStore, witness: tuple[str, str], logs: Path) -> None:
        self._client, self._store, self._is_external = cluster.client, store, cluster.is_external
        self._key, self._digest = witness
        self._setup = WorkerSetup(str(logs.absolute()))
        self._is_set_up = False

    def __call__(self, workers: Collection[str]) -> None:
        """Refuse workers with other versions, or that do not see the arrays of the run."""
        check_versions(self._client, workers)
        # Where a worker cannot even open the store, that is what comes back; one that has left says nothing.
        found = self._client.run(sees, self._store, self._key, workers=list(workers), on_error="return")
        reasons = {worker: _reason(answer, self._key, self._digest) for worker, answer in found.items()}
        if blind := sorted(worker for worker, reason in reasons.items() if reason):
            raise ClusterError(
                f"{len(blind)} of {len(workers)} workers do not see the arrays in {self._store.root}: {blind[0]} says "
                f"that {reasons[blind[0]]}. Give --out on a file system that workers share, or in an object store that "
                "they may read and write (--out s3://BUCKET/PREFIX)"
            )
        if not self._is_set_up:
            self._client.register_plugin(self._setup)  # those that come later get it too
            self._is_set_up = True

    def close(self) -> None:
        """Take from workers that stay what they were set up with; those that do not answer are past caring."""
        scheduler = self._client.scheduler  # None once the connection is given up
        if self._is_external and self._is_set_up and scheduler is not None:
            # A ValueError where another driver of the same directory, which took it over, has done so before.
            with suppress(OSError, ValueError):
                forget = scheduler.unregister_worker_plugin
                self._client.sync(forget, name=self._setup.name, callback_timeout=SECONDS_TO_FORGET)


def _reason(answer: tuple[str, str] | Exception, key: str, digest: str) -> str:
    """Why a worker does not see a file; empty if it does, or has left."""
    if isinstance(answer, Exception):
        return "" if isinstance(answer, OSError) and answer.errno is None else str(answer)
    found, error = answer
    return "" if found == digest else error or f"{key} is not there"
