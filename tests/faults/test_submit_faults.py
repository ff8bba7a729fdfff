"""Faults during submission to Slurm: a kill after sbatch, and a queue that does not answer."""

import time
from pathlib import Path

import pytest

from kernel_pipeline.cluster import batch
from kernel_pipeline.cluster.errors import ClusterError
from tests.faults.harness import CrashError, command
from tests.pipeline.run.test_submission import slurm, submit  # noqa: F401

pytestmark = pytest.mark.faults

# Accepts jobs, and lists them by number or by name; a job exists as long as the file `jobs` contains it.
SBATCH = """#!/bin/sh
here=$(dirname "$0")
number=$((71 + $(cat "$here/jobs" | wc -l)))
name=$(sed -n 's/^#SBATCH --job-name=//p' "$2")
echo "$number $name" >> "$here/jobs"
echo $number
"""
SQUEUE = """#!/bin/sh
here=$(dirname "$0")
for argument in "$@"; do
    case "$argument" in
        --jobs=*) grep "^${argument#--jobs=} " "$here/jobs" > "$here/found" || { echo 'Invalid job id' >&2; exit 1; };;
        --name=*) grep " ${argument#--name=}$" "$here/jobs" > "$here/found";;
    esac
done
while read number name; do echo "$number PENDING Resources"; done < "$here/found"
"""


@pytest.fixture
def queue(slurm: Path) -> Path:  # noqa: F811
    """Fake Slurm commands that keep a list of the submitted jobs."""
    (slurm / "sbatch").write_text(SBATCH)
    (slurm / "squeue").write_text(SQUEUE)
    (slurm / "jobs").touch()
    return slurm


def jobs(queue: Path) -> list[str]:
    return (queue / "jobs").read_text().splitlines()


def test_submit_killed_after_sbatch_does_not_queue_the_run_twice(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = batch.submit

    def killed(script: Path) -> str:
        whole(script)
        raise CrashError

    monkeypatch.setattr(batch, "submit", killed)
    with pytest.raises(CrashError):
        submit()
    monkeypatch.setattr(batch, "submit", whole)
    assert len(jobs(queue)) == 1
    again = submit()
    assert again.exit_code == 4, again.output
    assert "was already submitted: job 71, PENDING Resources" in again.output
    assert len(jobs(queue)) == 1
    assert "job 71, PENDING Resources; `scancel 71` stops it" in command("status", "run").output
    (queue / "jobs").write_text("")  # the job is over
    assert submit().exit_code == 0
    assert len(jobs(queue)) == 1


def test_submit_killed_before_sbatch_can_be_repeated(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(script: Path) -> str:
        raise CrashError

    whole = batch.submit
    monkeypatch.setattr(batch, "submit", killed)
    with pytest.raises(CrashError):
        submit()
    monkeypatch.setattr(batch, "submit", whole)
    assert submit().exit_code == 0
    assert len(jobs(queue)) == 1


def test_a_job_that_slurm_rejects_leaves_no_trace(queue: Path) -> None:
    (queue / "sbatch").write_text("#!/bin/sh\necho no such partition >&2; exit 1\n")
    rejected = submit()
    assert rejected.exit_code == 5
    assert "no such partition" in rejected.output
    assert not Path("run/logs/submitted.json").exists()
    (queue / "sbatch").write_text(SBATCH)
    assert submit().exit_code == 0


def test_every_job_has_a_unique_name(queue: Path) -> None:
    assert submit().exit_code == 0
    (queue / "jobs").write_text("70 other\n")
    assert submit().exit_code == 0
    names = [line.split()[1] for line in jobs(queue)]
    assert len(set(names)) == 2
    assert names[1].startswith("pipeline-driver-")


def test_unresponsive_queue_is_reported_within_seconds(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert batch.LIST_TIMEOUT_S <= 5
    monkeypatch.setattr(batch, "LIST_TIMEOUT_S", 0.5)
    assert submit().exit_code == 0
    (queue / "squeue").write_text("#!/bin/sh\nexec sleep 60\n")
    begin = time.monotonic()
    status = command("status", "run")
    assert time.monotonic() - begin < 20
    assert status.exit_code == 0
    assert "job 71; its state is unknown: the queue did not answer within 0.5 s" in status.output
    again = submit()
    assert again.exit_code == 4
    assert "the queue did not answer within 0.5 s" in again.output
    assert len(jobs(queue)) == 1


def test_failing_squeue_is_not_treated_as_a_missing_job(queue: Path) -> None:
    assert submit().exit_code == 0
    (queue / "squeue").write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n")
    assert submit().exit_code == 4
    assert "Unable to contact slurm controller" in command("status", "run").output


def test_job_that_slurm_may_have_accepted_is_looked_up(queue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "SUBMIT_TIMEOUT_S", 2)
    (queue / "sbatch").write_text(SBATCH + "exec sleep 60\n")
    with pytest.raises(ClusterError, match="did not answer"):
        batch.submit(_script(queue))
    late = submit()
    assert late.exit_code == 5
    assert "`pipeline status run`" in late.output
    (queue / "sbatch").write_text(SBATCH)
    again = submit()
    assert again.exit_code == 4, again.output
    assert len(jobs(queue)) == 2


def _script(queue: Path) -> Path:
    script = queue / "script.sh"
    script.write_text("#SBATCH --job-name=other\n")
    return script
