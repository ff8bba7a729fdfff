"""Submit a sweep to a batch system, and look up its job."""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from kernel_pipeline.cluster import batch
from kernel_pipeline.cluster.errors import ClusterError, SubmitTimeoutError
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.events import Listener
from kernel_pipeline.run.directory import default_directory
from kernel_pipeline.run.options import Options
from kernel_pipeline.run.sweeps import begin_sweep, choose_directory, make_emitter, report_reusable_runs
from kernel_pipeline.store.files import make_private, quoted, write_whole
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import LOGS
from kernel_pipeline.store.regular_files import MAX_TEXT_BYTES
from kernel_pipeline.store.storage import Storage

SCRIPT = "submitted.sh"
JOB = f"{LOGS}/submitted.json"
JOB_NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)?")
JOB_NAME = re.compile(rf"{batch.JOB_NAME}-[0-9a-f]+")


@dataclass(frozen=True)
class Submission:
    """A job that resumes a run."""

    root: Storage
    job: str
    output: Path
    """The file that receives the output of the job."""


def submit_sweep(
    config: Config,
    folder: Path,
    out: Storage | None,
    options: Options,
    resume_options: list[str],
    listeners: Sequence[Listener] = (),
) -> Submission:
    """Check a sweep as `run` does, create its directory, and submit a job that resumes it.

    Parameters
    ----------
    resume_options
        Command-line options of `pipeline resume` for the job.
    """
    batch.check(options.profile)
    root = choose_directory(config, out)
    logs = _log_folder(root, config)
    batch.check_path(logs)
    _check_not_submitted(root)  # before the manifest is changed
    emit = make_emitter(listeners)
    report_reusable_runs(config, out, root, options, emit)
    with begin_sweep(config, folder, root, options, emit) as run:
        run.ledger.close()
        _check_not_submitted(root)
    make_private(logs)
    command = [sys.executable, "-P", "-m", "kernel_pipeline", "resume", root.address, *resume_options]
    name = f"{batch.JOB_NAME}-{token_hex(8)}"
    write_whole(logs / SCRIPT, batch.driver_script(options.profile, command, logs, name))
    # The name is written first, so that the job is found even if this process is killed right after sbatch.
    root.write(JOB, json.dumps({"name": name}))
    try:
        job = batch.submit(logs / SCRIPT)
    except SubmitTimeoutError as error:
        raise SubmitTimeoutError(
            f"{error}; `pipeline status {quoted(root)}` shows whether the job was accepted"
        ) from None
    except ClusterError:
        root.remove(JOB)
        raise
    root.write(JOB, json.dumps({"name": name, "job": job}))
    return Submission(root, job, logs / f"submitted-{job}.out")


def _log_folder(root: Storage, config: Config) -> Path:
    """Return the folder for the script and the output of the job, which is local even for a run in an object store."""
    if isinstance(root, LocalStorage):
        return root.logs().folder
    directory = default_directory(config)
    return directory.with_name(f"{directory.name}-submitted")


def _check_not_submitted(root: Storage) -> None:
    """Reject a run that is already in the queue."""
    if job := submitted_job(root):
        raise RefusedError(f"{root} was already submitted: {job}")


def submitted_job(root: Storage) -> str:
    """Describe the job with which a run was submitted; empty if there is none, or if it has ended."""
    try:
        known = parse_json(root.read(JOB, MAX_TEXT_BYTES))
        job, name = str(known.get("job", "")), str(known.get("name", ""))
    except (OSError, ValueError, AttributeError):
        return ""
    job, name = (text if form.fullmatch(text) else "" for text, form in ((job, JOB_NUMBER), (name, JOB_NAME)))
    if not (job or name):
        return ""
    try:
        job_id, state = batch.find(job, name)
    except ClusterError as error:
        return f"job {job or name}; its state is unknown: {error}"
    return f"job {job_id}, {state}; `scancel {job_id}` stops it" if job_id else ""
