"""Jobs that start, end and are rejected, with mocks of the queue and of dask-jobqueue."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.core import Status
from distributed.deploy.spec import ProcessInterface

from kernel_pipeline.cluster import job_supervision
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.job_supervision import MAX_FAILED_STARTS, RESUBMIT_INTERVAL_S, Jobs, recording_rejections
from kernel_pipeline.cluster.slurm import SlurmProfile


class Queue:
    """A mock queue, which accepts a limited number of jobs; also used as the cluster and the client."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.workers: dict[str, Any] = {}
        self.worker_spec: dict[str, Any] = {}
        self.connected: set[str] = set()
        """Names of jobs whose workers are connected."""
        self.listed: dict[str, str] = {}
        self.submitted = 0

    def scale(self, jobs: int) -> None:
        number = 0
        while len(self.workers) < jobs:
            if (name := f"job-{number}") not in self.workers:
                self.submitted += 1
                rejection = "too many jobs" if len(self.listed) >= self.capacity else ""
                job_id = "" if rejection else str(self.submitted)
                if not rejection:
                    self.listed[job_id] = "PENDING Resources"
                self.workers[name] = self.job(job_id, rejection)
                self.worker_spec[name] = {}
            number += 1

    def job(self, job_id: str, rejection: str) -> Any:
        async def close() -> None:
            self.listed.pop(job_id, None)

        return SimpleNamespace(
            job_id=job_id, rejection=rejection, rejected_at=time.monotonic(), has_started=False, close=close
        )

    def sync(self, function: Any, *arguments: Any) -> None:
        with pytest.raises(StopIteration):
            function(*arguments).send(None)

    def __await__(self) -> Any:
        return iter(())

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": {name: {"name": name} for name in self.connected}}


def supervised(queue: Queue, monkeypatch: pytest.MonkeyPatch, jobs: int) -> Jobs:
    monkeypatch.setattr(job_supervision, "REPLACE_INTERVAL_S", 0.0)
    monkeypatch.setattr(Jobs, "_listed", lambda _: dict(queue.listed))
    profile = SlurmProfile(jobs=jobs, memory="1 GiB", walltime="1:00:00")
    made = Jobs(queue, queue, profile, "Slurm", ("squeue",))  # type: ignore[arg-type]
    made.submit()
    return made


def test_run_waits_for_a_queue_that_accepts_only_some_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(capacity=2)
    jobs = supervised(queue, monkeypatch, 5)
    for _ in range(10 * MAX_FAILED_STARTS):
        jobs.replace_lost()
    assert queue.submitted == 5, "rejected jobs are not submitted again at once"
    assert jobs.pending_reason() == (
        "the queue reports: 1 PENDING Resources; 2 PENDING Resources; Slurm rejected the other jobs: too many jobs"
    )


def test_rejected_jobs_are_submitted_again_after_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(capacity=2)
    jobs = supervised(queue, monkeypatch, 3)
    queue.capacity = 3
    for job in queue.workers.values():
        job.rejected_at -= RESUBMIT_INTERVAL_S + 1
    jobs.replace_lost()
    assert list(queue.listed) == ["1", "2", "4"]


def test_queue_that_accepts_no_job_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="Slurm rejected the job: too many jobs"):
        supervised(Queue(capacity=0), monkeypatch, 3)


def test_lost_job_is_replaced_and_the_others_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(capacity=9)
    jobs = supervised(queue, monkeypatch, 2)
    queue.connected = {"job-0", "job-1"}
    jobs.replace_lost()
    queue.connected = {"job-1"}
    jobs.replace_lost()
    assert sorted(queue.listed) == ["2", "3"]
    jobs.replace_lost()
    assert sorted(queue.listed) == ["2", "3"], "a new job with an old name is not replaced"


def test_jobs_that_end_before_their_workers_connect_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(capacity=9)
    jobs = supervised(queue, monkeypatch, 2)

    def lose_all() -> None:
        queue.listed.clear()
        jobs.replace_lost()

    for _ in range(MAX_FAILED_STARTS):
        lose_all()
    with pytest.raises(ClusterError, match="8 jobs in a row ended before their worker was connected"):
        lose_all()


def test_closed_job_has_the_status_closed() -> None:
    """Dask checks the status when it closes a cluster, and the jobs of dask-jobqueue do not set it."""

    class Job(ProcessInterface):
        async def start(self) -> None:
            raise RuntimeError("Command exited with non-zero exit code.\nstderr:\nno such queue\n")

        async def close(self) -> None:
            pass

    async def live() -> Any:
        job = recording_rejections(Job)()
        await job
        rejection = job.rejection
        await job.close()
        return rejection, job.status

    assert asyncio.run(live()) == ("no such queue", Status.closed)
