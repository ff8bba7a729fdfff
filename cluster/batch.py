"""Run the driver in a Slurm job, for clusters whose login nodes do not allow long processes."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernel_pipeline.cluster.errors import ClusterError, ProfileError, SubmitTimeoutError
from kernel_pipeline.cluster.jobqueue import check_path
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.quantities import handover_seconds, parse_memory, walltime_seconds
from kernel_pipeline.cluster.slurm import SlurmProfile

__all__ = ["JOB_NAME", "check", "check_path", "driver_script", "find", "submit"]

SUBMIT_TIMEOUT_S = 30
LIST_TIMEOUT_S = 5
JOB_NAME = "pipeline-driver"
UNKNOWN_JOB = "Invalid job id"
"""Message of squeue for a job that has ended and is no longer in its records."""


def driver_script(profile: Profile, command: Sequence[str], logs: Path, name: str = JOB_NAME) -> str:
    """Return a job script that runs a command, and requeues its job until the command has finished.

    Parameters
    ----------
    profile
        A Slurm profile.
    command
        Command that stops cleanly when it receives SIGTERM, and resumes when it is run again.
    logs
        Directory for the output of the job.
    name
        Name of the job, by which it can be found before its ID is known.
    """
    assert isinstance(profile, SlurmProfile)  # `check` has rejected others
    driver, walltime = profile.driver, profile.driver.walltime or profile.walltime
    assert walltime is not None  # required in a Slurm profile
    more = profile.directives if driver.directives is None else driver.directives
    directives = {
        "job-name": name,
        "output": f"{logs.absolute()}/submitted-%j.out",
        "open-mode": "append",
        "ntasks": 1,
        "cpus-per-task": driver.cores,
        "mem": f"{-(-parse_memory(driver.memory) // 2**20)}M",
        "time": walltime,
        "partition": profile.queue,
        "account": profile.account,
    }
    lines = ["#!/usr/bin/env bash", "#SBATCH --requeue"]
    lines += [f"#SBATCH --{name}={value}" for name, value in directives.items() if value is not None]
    lines += [f"#SBATCH {directive}" for directive in more]
    lines += ["", *profile.setup]
    margin = handover_seconds(walltime)
    limit = f"{walltime_seconds(walltime) - margin:.0f}"
    return "\n".join(
        [
            *lines,
            "trap : TERM  # when the job is cancelled, the driver receives the signal too, and stops cleanly",
            "# Shortly before the wall time the driver is stopped cleanly, and the job returns to the queue.",
            f"timeout --foreground --signal=TERM --kill-after={margin / 2:.0f} {limit} {shlex.join(command)}",
            "code=$?",
            f'if [ "$SECONDS" -ge {limit} ]; then scontrol requeue "$SLURM_JOB_ID"; fi',
            "exit $code",
            "",
        ]
    )


def check(profile: Profile) -> None:
    """Check that `pipeline submit` supports the profile.

    Raises
    ------
    ProfileError
        If it does not.
    """
    if not isinstance(profile, SlurmProfile):
        raise ProfileError(
            f"`pipeline submit` works with Slurm only (--cluster slurm); for {profile.backend!r}, put `pipeline run` "
            "into a job script of your own"
        )


def submit(script: Path) -> str:
    """Submit a script and return the job ID.

    Raises
    ------
    SubmitTimeoutError
        If the queue did not answer in time, so that it is not known whether it accepted the job.
    ClusterError
        If the queue rejected the job, or `sbatch` is not available.
    """
    try:
        done = subprocess.run(
            ["sbatch", "--parsable", str(script)],
            capture_output=True,
            text=True,
            timeout=SUBMIT_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise SubmitTimeoutError(f"sbatch did not answer within {SUBMIT_TIMEOUT_S} s") from None
    except OSError as error:
        raise ClusterError(
            f"sbatch cannot be run ({error}); use `pipeline submit` on a host of the Slurm cluster"
        ) from None
    except subprocess.SubprocessError as error:
        raise ClusterError(f"Slurm rejected the job: {_message(error)}") from None
    return done.stdout.strip().partition(";")[0]


def find(job: str = "", name: str = "") -> tuple[str, str]:
    """Find a job by its ID or its name.

    Returns
    -------
    job_id, state
        The job ID, and the state and its reason as reported by Slurm. Both are empty if the job is not in the queue.

    Raises
    ------
    ClusterError
        If the queue does not answer.
    """
    which = f"--jobs={job}" if job else f"--name={name}"
    command = ["squeue", "--noheader", "--format=%i %T %r", which]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIST_TIMEOUT_S, check=True)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"the queue did not answer within {LIST_TIMEOUT_S} s") from None
    except (OSError, subprocess.SubprocessError) as error:
        if UNKNOWN_JOB in (message := _message(error)):
            return "", ""
        raise ClusterError(f"the queue does not answer ({message})") from None
    job_id, _, state = done.stdout.strip().partition("\n")[0].partition(" ")
    return job_id, state


def _message(error: Exception) -> str:
    return str(getattr(error, "stderr", "") or error).strip()
