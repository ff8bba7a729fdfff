"""Keep the requested number of jobs in a queue: dask-jobqueue does not replace a job that has ended."""

import logging
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

from distributed.deploy.spec import ProcessInterface

from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.profile import Profile

if TYPE_CHECKING:
    from distributed import Client

log = logging.getLogger("kernel_pipeline")

LIST_TIMEOUT_S = 30
REPLACE_INTERVAL_S = 15.0
"""Minimum time between two queries of the queue."""
RESUBMIT_INTERVAL_S = 300.0
"""Time after which a rejected job is submitted again: a site may accept fewer jobs at a time than were requested."""
MAX_FAILED_STARTS = 3
"""Consecutive jobs without a worker, per requested job, after which the run stops."""
MAX_LISTED = 3
"""Maximum number of jobs that a message lists."""


class Jobs:
    """The jobs of one cluster.

    Parameters
    ----------
    cluster
        Cluster of dask-jobqueue.
    client
        Client of this cluster.
    profile
        Profile with the requested number of jobs.
    title
        Name of the batch system in messages.
    list_command
        Command that lists jobs, one per line, each beginning with the job ID.
    """

    def __init__(
        self, cluster: Any, client: "Client", profile: Profile, title: str, list_command: tuple[str, ...]
    ) -> None:
        self._cluster, self._client, self._profile = cluster, client, profile
        self._title, self._list_command = title, list_command
        self._failed_starts = 0
        """Number of jobs that have ended without a worker since a worker was last connected."""
        self._replaced_at = float("-inf")

    def submit(self) -> None:
        """Submit all jobs.

        Raises
        ------
        ClusterError
            If the queue rejects all of them.
        """
        minimum, maximum = self._profile.adapt or [self._profile.max_jobs] * 2
        self._cluster.scale(jobs=max(1, minimum))
        self._cluster.sync(self._settle)
        jobs = self._cluster.workers.values()
        if jobs and all(job.rejection for job in jobs):
            raise ClusterError(f"{self._title} rejected the job: {next(iter(jobs)).rejection}")
        if self._profile.adapt:
            self._cluster.adapt(minimum_jobs=minimum, maximum_jobs=maximum)

    def replace_lost(self) -> None:
        """Replace jobs that have ended with new ones.

        Raises
        ------
        ClusterError
            If too many jobs in a row have ended without a worker.
        """
        if time.monotonic() - self._replaced_at < REPLACE_INTERVAL_S:
            return
        self._replaced_at = now = time.monotonic()
        names = {str(worker["name"]) for worker in self._client.scheduler_info(n_workers=-1)["workers"].values()}
        listed = self._listed()
        lost = []
        for name, job in list(self._cluster.workers.items()):
            if any(worker == name or worker.startswith(f"{name}-") for worker in names):
                job.has_started = True
                self._failed_starts = 0
            elif job.rejection:
                if now - job.rejected_at > RESUBMIT_INTERVAL_S:
                    lost.append(name)
            elif job.has_started or (listed is not None and _short_id(job.job_id) not in listed):
                lost.append(name)
                self._failed_starts += not job.has_started
        if self._failed_starts > MAX_FAILED_STARTS * self._profile.max_jobs:
            raise ClusterError(
                f"{self._failed_starts} jobs in a row ended before their worker was connected; the newest files in "
                "logs/ may show why. Run the same command again to resume"
            )
        self._cluster.sync(self._remove, lost)
        if not self._profile.adapt:
            self._cluster.scale(jobs=self._profile.max_jobs)
        self._cluster.sync(self._settle)

    def pending_reason(self) -> str:
        """Return what the queue reports about jobs that have no worker yet."""
        listed = self._listed()
        if listed is None:
            return f"`{self._list_command[0]}` does not answer"
        jobs = self._cluster.workers.values()
        rejections = [job.rejection for job in jobs if job.rejection]
        ids = [_short_id(job.job_id) for job in jobs if not job.rejection]
        lines = [f"{job_id} {listed[job_id]}" for job_id in ids if job_id in listed]
        if not lines and not rejections:
            return "none of the jobs is in the queue; logs/ may show why they ended"
        parts = []
        if lines:
            more = f" and {len(lines) - MAX_LISTED} more" if len(lines) > MAX_LISTED else ""
            parts.append(f"the queue reports: {'; '.join(lines[:MAX_LISTED])}{more}")
        if rejections:
            parts.append(f"{self._title} rejected {'the other jobs' if lines else 'all jobs'}: {rejections[0]}")
        return "; ".join(parts)

    def _listed(self) -> dict[str, str] | None:
        """Return what the queue reports about each job, by job ID; None if it does not answer."""
        command = self._list_command
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LIST_TIMEOUT_S, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("%s: %s", command[0], (getattr(error, "stderr", "") or str(error)).strip())
            return None
        lines = (re.match(r"\s*(\d+)\S*\s+(.*)", line) for line in done.stdout.splitlines())
        return {line[1]: " ".join(line[2].split()) for line in lines if line}

    async def _remove(self, names: list[str]) -> None:
        for name in names:
            self._cluster.worker_spec.pop(name, None)
            if (job := self._cluster.workers.pop(name, None)) is not None:  # Dask may have removed it already
                if job.rejection:
                    log.warning("the job of worker %s was rejected, and is requested again: %s", name, job.rejection)
                else:
                    log.warning("job %s of worker %s has ended", job.job_id, name)
                await job.close()  # cancels it too, so that the queue does not start it again

    async def _settle(self) -> None:
        """Wait until all requested jobs are submitted or rejected."""
        await self._cluster


def recording_rejections(job_cls: type[Any]) -> type[Any]:
    """Return a subclass of a job class that records rejections, which in dask-jobqueue leave the cluster unusable."""

    class RecordingJob(job_cls):  # type: ignore[misc]
        has_started = False
        """Whether a worker of the job was ever connected."""
        rejection = ""
        """Why the queue rejected the job; empty if it did not."""
        rejected_at = 0.0

        async def start(self) -> None:
            try:
                await super().start()
            except (RuntimeError, OSError) as error:
                self.rejected_at = time.monotonic()
                self.rejection = str(error).rpartition("stderr:\n")[2].strip() or str(error)
                await ProcessInterface.start(self)

        async def close(self) -> None:
            await super().close()
            await ProcessInterface.close(self)  # the cluster checks at its end that each job was closed

    return RecordingJob


def _short_id(job_id: str) -> str:
    """Return the ID of a job without the name of its server."""
    return job_id.partition(".")[0]
