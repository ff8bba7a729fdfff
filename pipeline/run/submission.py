"""Hand a sweep over to a batch system, and look after it from elsewhere."""

import json
import re
import sys
from pathlib import Path
from secrets import token_hex

from rich.console import Console

from kernel_pipeline.cluster import batch
from kernel_pipeline.cluster.errors import ClusterError, LateAnswerError
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.run.directory import default_directory
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.sweeps import begin_sweep
from kernel_pipeline.store.files import make_private, quoted, write_whole
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.local_storage import LocalRoot
from kernel_pipeline.store.paths import LOGS
from kernel_pipeline.store.regular_files import MAX_RECORD_BYTES
from kernel_pipeline.store.storage import Root

SCRIPT = "submitted.sh"
JOB = f"{LOGS}/submitted.json"
JOB_NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)?")
JOB_NAME = re.compile(rf"{batch.JOB_NAME}-[0-9a-f]+")


def submit_sweep(
    config: Config, folder: Path, out: Root | None, options: Options, again: list[str], console: Console
) -> None:
    """Check a sweep as `run` does, begin its directory, and let a job go on with it.

    Parameters
    ----------
    again
        The options of `pipeline resume` that the job gets.
    """
    batch.check(options.profile)
    root = out or LocalRoot(default_directory(config))
    logs = _folder_of_logs(root, config)
    batch.check_path(logs)
    _check_not_submitted(root)  # before the directory is told of changes
    with begin_sweep(config, folder, root, options, console) as run:
        run.ledger.close()
        _check_not_submitted(root)
    make_private(logs)
    command = [sys.executable, "-P", "-m", "kernel_pipeline", "resume", root.address, *again]
    name = f"{batch.JOB_NAME}-{token_hex(8)}"
    write_whole(logs / SCRIPT, batch.driver_script(options.profile, command, logs, name))
    root.write(JOB, json.dumps({"name": name}))  # a kill after sbatch, and the job is still found
    try:
        job = batch.submit(logs / SCRIPT)
    except LateAnswerError as error:
        raise LateAnswerError(f"{error}; `pipeline status {quoted(root)}` tells whether it took the job") from None
    except ClusterError:
        root.remove(JOB)
        raise
    root.write(JOB, json.dumps({"name": name, "job": job}))
    console.print(
        f"Submitted as job {job}. You can log out: it ends by itself, through as many wall times as it needs.\n"
        f"Look: `pipeline status {quoted(root)}`; its words are in {logs}/submitted-{job}.out.\n"
        f"Stop: `scancel {job}`; what is done is kept, and `pipeline submit` goes on.",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )


def _folder_of_logs(root: Root, config: Config) -> Path:
    """Where the queue writes, which it does to files only, also for a run in an object store."""
    if isinstance(root, LocalRoot):
        return root.logs().folder
    directory = default_directory(config)
    return directory.with_name(f"{directory.name}-submitted")


def _check_not_submitted(root: Root) -> None:
    if said := submitted(root):
        raise RefusedError(f"{root} was handed to the queue already: {said}")


def submitted(root: Root) -> str:
    """What the queue says of the job that a run was handed to; empty if there is none, or it is over."""
    try:
        known = parse_json(root.read(JOB, MAX_RECORD_BYTES))
        job, name = str(known.get("job", "")), str(known.get("name", ""))
    except (OSError, ValueError, AttributeError):
        return ""
    job, name = (text if form.fullmatch(text) else "" for text, form in ((job, JOB_NUMBER), (name, JOB_NAME)))
    if not (job or name):
        return ""
    try:
        number, state = batch.find(job, name)
    except ClusterError as error:
        return f"job {job or name}; {error}, so its state is not known"
    return f"job {number}, {state}; `scancel {number}` stops it" if number else ""
