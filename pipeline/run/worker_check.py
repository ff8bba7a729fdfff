"""Check workers that connect, before they receive tasks."""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.setup import WorkerSetup
from kernel_pipeline.cluster.versions import Plugins, check_versions
from kernel_pipeline.run.worker import probe_store
from kernel_pipeline.store.arrays import RunStore

UNREGISTER_TIMEOUT_S = 5


class WorkerCheck:
    """Check workers that connect, and set them up; `close` undoes the set-up of workers that keep running.

    Parameters
    ----------
    probe_file
        Key and digest of a stored file that every worker must be able to read.
    logs
        Directory of the log files of workers.
    plugins
        Packages of plug-ins that workers need in the same versions as the driver.
    """

    def __init__(
        self, cluster: Cluster, store: RunStore, probe_file: tuple[str, str], logs: Path, plugins: Plugins = ()
    ) -> None:
        self._client, self._store, self._is_external = cluster.client, store, cluster.is_external
        self._key, self._digest = probe_file
        self._plugins = plugins
        self._setup = WorkerSetup(str(logs.absolute()))
        self._is_set_up = False

    def __call__(self, workers: Collection[str]) -> None:
        """Reject workers that differ from the driver in their versions, or cannot read the arrays of the run."""
        check_versions(self._client, workers, self._plugins)
        # A worker that cannot open the store returns its exception; one that has left returns nothing.
        found = self._client.run(probe_store, self._store, self._key, workers=list(workers), on_error="return")
        reasons = {worker: _reason(answer, self._key, self._digest) for worker, answer in found.items()}
        if failed := sorted(worker for worker, reason in reasons.items() if reason):
            raise ClusterError(
                f"{len(failed)} of {len(workers)} workers cannot read the arrays in {self._store.root}: {failed[0]} "
                f"reports: {reasons[failed[0]]}. Choose --out on a file system that all workers share, or in an "
                "object store that they may read and write (--out s3://BUCKET/PREFIX)"
            )
        if not self._is_set_up:
            self._client.register_plugin(self._setup)  # workers that connect later get it too
            self._is_set_up = True

    def close(self) -> None:
        """Remove the set-up from workers that keep running; unresponsive workers are ignored."""
        scheduler = self._client.scheduler  # None after the connection was closed
        if self._is_external and self._is_set_up and scheduler is not None:
            # A ValueError is raised if another driver, which took over the run directory, has removed it already.
            with suppress(OSError, ValueError):
                unregister = scheduler.unregister_worker_plugin
                self._client.sync(unregister, name=self._setup.name, callback_timeout=UNREGISTER_TIMEOUT_S)


def _reason(answer: tuple[str, str] | Exception, key: str, digest: str) -> str:
    """Return why a worker cannot read a file; empty if it can, or has left.

    >>> _reason(("", ""), "gram.zarr/zarr.json", "12:ab")
    'gram.zarr/zarr.json is missing, cannot be read or has other content'
    """
    if isinstance(answer, Exception):
        return "" if isinstance(answer, OSError) and answer.errno is None else str(answer)
    found, error = answer
    return "" if found == digest else error or f"{key} is missing, cannot be read or has other content"
