"""Jobs that start, end and are rejected, with stand-ins for the queue and for dask-jobqueue."""

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
    """Takes some jobs at a time; also stands in for the cluster and the client."""

    def __init__(self, takes: int) -> None:
        self.takes = takes
        self.workers: dict[str, Any] = {}
        self.worker_spec: dict[str, Any] = {}
        self.at_work: set[str] = set()
        """Names of jobs whose workers are there."""
        self.listed: dict[str, str] = {}
        self.submitted = 0

    def scale(self, jobs: int) -> None:
        number = 0
        while len(self.workers) < jobs:
            if (name := f"job-{number}") not in self.workers:
                self.submitted += 1
                rejection = "too many jobs" if len(self.listed) >= self.takes else ""
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
        return {"workers": {name: {"name": name} for name in self.at_work}}


def supervised(queue: Queue, monkeypatch: pytest.MonkeyPatch, jobs: int) -> Jobs:
    monkeypatch.setattr(job_supervision, "REPLACE_INTERVAL_S", 0.0)
    monkeypatch.setattr(Jobs, "_listed", lambda _: dict(queue.listed))
    profile = SlurmProfile(jobs=jobs, memory="1 GiB", walltime="1:00:00")
    made = Jobs(queue, queue, profile, "Slurm", ("squeue",))  # type: ignore[arg-type]
    made.submit()
    return made


def test_a_queue_that_takes_fewer_jobs_than_asked_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(takes=2)
    jobs = supervised(queue, monkeypatch, 5)
    for _ in range(10 * MAX_FAILED_STARTS):
        jobs.replace_lost()
    assert queue.submitted == 5, "what was refused is asked for again at once"
    assert jobs.pending_reason() == (
        "the queue reports: 1 PENDING Resources; 2 PENDING Resources; Slurm rejected the other jobs: too many jobs"
    )


def test_refused_jobs_are_asked_for_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(takes=2)
    jobs = supervised(queue, monkeypatch, 3)
    queue.takes = 3
    for job in queue.workers.values():
        job.rejected_at -= RESUBMIT_INTERVAL_S + 1
    jobs.replace_lost()
    assert list(queue.listed) == ["1", "2", "4"]


def test_a_queue_that_takes_nothing_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="Slurm rejected the job: too many jobs"):
        supervised(Queue(takes=0), monkeypatch, 3)


def test_a_job_that_is_gone_is_replaced_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(takes=9)
    jobs = supervised(queue, monkeypatch, 2)
    queue.at_work = {"job-0", "job-1"}
    jobs.replace_lost()
    queue.at_work = {"job-1"}
    jobs.replace_lost()
    assert sorted(queue.listed) == ["2", "3"]
    jobs.replace_lost()
    assert sorted(queue.listed) == ["2", "3"], "a new job of an old name is left to wait"


def test_jobs_that_end_before_their_workers_come_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue(takes=9)
    jobs = supervised(queue, monkeypatch, 2)

    def lose_all() -> None:
        queue.listed.clear()
        jobs.replace_lost()

    for _ in range(MAX_FAILED_STARTS):
        lose_all()
    with pytest.raises(ClusterError, match="8 jobs in a row ended before their worker was connected"):
        lose_all()


def test_a_closed_job_says_so() -> None:
    """Dask's cluster insists on it at its end, and dask-jobqueue's own jobs do not."""

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
