"""As many jobs in the queue as were asked for: dask-jobqueue itself does not replace one that is gone."""

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

LISTING = {
    "slurm": ("squeue", "--me", "--noheader", "--format=%A %T %r"),
    "pbs": ("qstat",),
    "lsf": ("bjobs", "-noheader"),
    "sge": ("qstat",),
    "htcondor": ("condor_q", "-nobatch"),
}
"""Commands that list jobs, a line each that begins with the number of the job."""
SECONDS_TO_LIST = 30
SECONDS_BETWEEN_MENDING = 15.0
# A site may take fewer jobs at a time than were asked for.
SECONDS_BEFORE_ASKING_AGAIN = 300.0
MOST_STILLBORN = 3
MOST_NAMED = 3


class Jobs:
    """The jobs of one cluster."""

    def __init__(self, cluster: Any, client: "Client", profile: Profile) -> None:
        self._cluster, self._client, self._profile = cluster, client, profile
        self._stillborn = 0
        """How many jobs have ended without a worker since one was last seen."""
        self._mended = float("-inf")

    def ask(self) -> None:
        """Ask for all jobs, or say that the queue takes none."""
        least, most = self._profile.adapt or [self._profile.most_jobs] * 2
        self._cluster.scale(jobs=max(1, least))
        self._cluster.sync(self._settle)
        jobs = self._cluster.workers.values()
        if jobs and all(job.refusal for job in jobs):
            raise ClusterError(f"{self._profile.backend} takes no job: {next(iter(jobs)).refusal}")
        if self._profile.adapt:
            self._cluster.adapt(minimum_jobs=least, maximum_jobs=most)

    def mend(self) -> None:
        """Give up jobs that are gone, and ask for others in their place."""
        if time.monotonic() - self._mended < SECONDS_BETWEEN_MENDING:
            return  # queues do not like to be asked all the time
        self._mended = now = time.monotonic()
        names = {str(worker["name"]) for worker in self._client.scheduler_info(n_workers=-1)["workers"].values()}
        listed = self._listed()
        gone = []
        for name, job in list(self._cluster.workers.items()):
            if any(worker == name or worker.startswith(f"{name}-") for worker in names):
                job.began = True
                self._stillborn = 0
            elif job.refusal:
                if now - job.refused > SECONDS_BEFORE_ASKING_AGAIN:
                    gone.append(name)
            elif job.began or (listed is not None and _number(job.job_id) not in listed):
                gone.append(name)
                self._stillborn += not job.began
        if self._stillborn > MOST_STILLBORN * self._profile.most_jobs:
            raise ClusterError(
                f"{self._stillborn} jobs ended one after the other before a worker came; the newest files in logs/ say "
                "why. The same command goes on from here"
            )
        self._cluster.sync(self._drop, gone)
        if not self._profile.adapt:
            self._cluster.scale(jobs=self._profile.most_jobs)
        self._cluster.sync(self._settle)

    def waiting(self) -> str:
        """What the queue says of jobs that have no worker yet."""
        listed = self._listed()
        if listed is None:
            return f"`{LISTING[self._profile.backend][0]}` does not answer"
        jobs = self._cluster.workers.values()
        refusals = [job.refusal for job in jobs if job.refusal]
        numbers = [_number(job.job_id) for job in jobs if not job.refusal]
        lines = [f"{number} {listed[number]}" for number in numbers if number in listed]
        if not lines and not refusals:
            return "none of the jobs is in the queue; logs/ may say why they ended"
        parts = []
        if lines:
            more = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
            parts.append(f"the queue says: {'; '.join(lines[:MOST_NAMED])}{more}")
        if refusals:
            parts.append(f"the queue takes {'no more jobs' if lines else 'no job'}: {refusals[0]}")
        return "; ".join(parts)

    def _listed(self) -> dict[str, str] | None:
        """What the queue says of each job, by its number; None if it cannot be asked."""
        command = LISTING[self._profile.backend]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_LIST, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("%s: %s", command[0], (getattr(error, "stderr", "") or str(error)).strip())
            return None
        lines = (re.match(r"\s*(\d+)\S*\s+(.*)", line) for line in done.stdout.splitlines())
        return {line[1]: " ".join(line[2].split()) for line in lines if line}

    async def _drop(self, names: list[str]) -> None:
        for name in names:
            self._cluster.worker_spec.pop(name, None)
            if (job := self._cluster.workers.pop(name, None)) is not None:  # unless Dask was quicker
                log.warning("job %s of worker %s is gone %s", job.job_id, name, job.refusal)
                await job.close()  # cancelled too, lest the queue starts it once more

    async def _settle(self) -> None:
        await self._cluster


def patient(job_cls: type[Any]) -> type[Any]:
    """A kind of job that remembers its past; refused by the queue, dask-jobqueue's own leaves a cluster half made."""

    class PatientJob(job_cls):  # type: ignore[misc]
        began = False
        """Whether a worker of it was seen."""
        refusal = ""
        refused = 0.0

        async def start(self) -> None:
            try:
                await super().start()
            except (RuntimeError, OSError) as error:
                self.refused = time.monotonic()
                self.refusal = str(error).rpartition("stderr:\n")[2].strip() or str(error)
                await ProcessInterface.start(self)

        async def close(self) -> None:
            await super().close()
            await ProcessInterface.close(self)  # the cluster asks at its end whether each job was closed

    return PatientJob


def _number(job_id: str) -> str:
    """Of a job, without the name of its server."""
    return job_id.partition(".")[0]
