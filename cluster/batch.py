"""The driver itself as a job of Slurm, for login nodes where nothing may run for long."""

import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kernel_pipeline.cluster.errors import ClusterError, LateAnswerError, ProfileError
from kernel_pipeline.cluster.profile import Profile, margin, seconds

SECONDS_TO_SUBMIT = 30
SECONDS_TO_LIST = 5
JOB_NAME = "pipeline-driver"
# What squeue says of a job that has ended so long ago that Slurm has forgotten it.
FORGOTTEN = "Invalid job id"


def driver_script(profile: Profile, command: Sequence[str], logs: Path, name: str = JOB_NAME) -> str:
    """A script that runs a command until it is done, through as many lives of one job as that takes.

    Parameters
    ----------
    command
        Ends by itself, in order, when it gets SIGTERM, and goes on from there when it is run again.
    name
        Name of the job, by which it can be found before its number is known.
    """
    from dask.utils import parse_bytes

    driver, walltime = profile.driver, profile.driver.walltime or profile.walltime
    more = profile.directives if driver.directives is None else driver.directives
    directives = {
        "job-name": name,
        "output": f"{logs.absolute()}/submitted-%j.out",
        "open-mode": "append",
        "ntasks": 1,
        "cpus-per-task": driver.cores,
        "mem": f"{-(-int(parse_bytes(driver.memory)) // 2**20)}M",
        "time": walltime,
        "partition": profile.queue,
        "account": profile.account,
    }
    lines = ["#!/usr/bin/env bash", "#SBATCH --requeue"]
    lines += [f"#SBATCH --{name}={value}" for name, value in directives.items() if value is not None]
    lines += [f"#SBATCH {directive}" for directive in more]
    lines += ["", *profile.setup]
    assert walltime is not None  # a profile of Slurm has one
    left = margin(walltime)
    limit = f"{seconds(walltime) - left:.0f}"
    return "\n".join(
        [
            *lines,
            "trap : TERM  # who cancels the job tells the driver too, which ends in order",
            "# Shortly before its time is up the driver ends in order, and the job goes back to the queue.",
            f"timeout --foreground --signal=TERM --kill-after={left / 2:.0f} {limit} {shlex.join(command)}",
            "code=$?",
            f'if [ "$SECONDS" -ge {limit} ]; then scontrol requeue "$SLURM_JOB_ID"; fi',
            "exit $code",
            "",
        ]
    )


def check(profile: Profile) -> None:
    """Refuse other batch systems."""
    if profile.backend != "slurm":
        raise ProfileError(
            f"submit is for Slurm (--cluster slurm); on {profile.backend!r} put `pipeline run` in a job of your own"
        )


def check_path(logs: Path) -> None:
    """Refuse a folder that scripts and directives of a queue cannot name as it is."""
    path = str(logs.absolute())
    if shlex.quote(path) != path or "%" in path:
        raise ProfileError(
            f"queues take paths of letters, digits and . _ - only, and the logs go to {path}: give another --out"
        )


def submit(script: Path) -> str:
    """Give a script to the queue; gives the number of the job.

    Raises
    ------
    LateAnswerError
        If the queue did not answer in time, and so may have taken the job or not.
    """
    try:
        done = subprocess.run(
            ["sbatch", "--parsable", str(script)],
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_SUBMIT,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise LateAnswerError(f"sbatch did not answer within {SECONDS_TO_SUBMIT} s") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise ClusterError(f"slurm takes no job: {_words(error)}") from None
    return done.stdout.strip().partition(";")[0]


def find(job: str = "", name: str = "") -> tuple[str, str]:
    """The number of a job, given that or its name, and what Slurm says of it: its state and the reason.

    Returns
    -------
    Two empty texts if the job is not in the queue any more, or never was.

    Raises
    ------
    ClusterError
        If the queue cannot be asked.
    """
    which = f"--jobs={job}" if job else f"--name={name}"
    command = ["squeue", "--noheader", "--format=%i %T %r", which]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_LIST, check=True)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"the queue did not answer within {SECONDS_TO_LIST} s") from None
    except (OSError, subprocess.SubprocessError) as error:
        if FORGOTTEN in (words := _words(error)):
            return "", ""
        raise ClusterError(f"the queue cannot be asked ({words})") from None
    number, _, state = done.stdout.strip().partition("\n")[0].partition(" ")
    return number, state


def _words(error: Exception) -> str:
    return str(getattr(error, "stderr", "") or error).strip()
