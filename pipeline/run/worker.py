"""Define the functions that run on workers: they execute and measure tasks, and check access to the store."""

import logging
import os
import socket
import time
from collections.abc import Sequence
from contextlib import nullcontext

from distributed import Worker, get_worker

from kernel_pipeline.cluster.errors import LimitError, StorageUnreachableError
from kernel_pipeline.cluster.limits import suspected_limits
from kernel_pipeline.cluster.versions import Plugins
from kernel_pipeline.cluster.worker_memory import WorkerMemory, check_fingerprint, worker_memory
from kernel_pipeline.run.peak_memory import measured_peak
from kernel_pipeline.run.running_tasks import noted_as_running
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.inputs import Total, check_inputs, ledger_digest, with_reports
from kernel_pipeline.store.json_text import dump_json
from kernel_pipeline.store.reports import TaskReport

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)

STOPPING = "pipeline_stopping_executions"
"""Attribute of a worker: ids of executions whose tasks it no longer starts. It may still run tasks of others."""


def run_batch(
    tasks: Sequence[Task],
    inputs: Sequence[tuple[Total, ...]],
    needed: Sequence[Sequence[TaskReport]],
    store: RunStore,
    execution: str,
    versions: str,
    plugins: Plugins = (),
    spread: bool = False,
) -> list[TaskReport]:
    """Run the tasks of one batch and return their reports; return an empty list if the run is stopping.

    Parameters
    ----------
    inputs
        Digests of the inputs of each task from the ledger; empty if inputs are not checked.
    needed
        Reports of the tasks that the batch needs and that were not finished when it was sent.
    execution
        Id of the execution that sent the batch.
    versions
        Fingerprint of the versions that are installed at the driver. A worker that has just connected may have others,
        and is rejected.
    plugins
        Packages of plug-ins whose versions are part of the fingerprint.
    spread
        Whether the batch is one task that uses the memory of all workers, on which no other task runs.
    """
    check_fingerprint(versions, plugins)
    # A task that the batch needs has no reports if it was skipped because the run is stopping.
    if execution in getattr(get_worker(), STOPPING, ()) or not all(needed):
        return []
    if inputs:
        inputs = with_reports(tasks, inputs, [report.digests for reports in needed for report in reports])
    store = store.fresh_copy()  # a worker in the driver's process would otherwise share the store of the driver
    memory = worker_memory(versions, plugins, store.fence.check) if spread else nullcontext()
    try:
        with memory as found, noted_as_running(execution, tasks[0].name):
            finished = run_tasks(tasks, store, inputs, found)
        store.fence.check(now=True)  # the last check may have been some time ago
        return finished
    except DamagedError as error:
        damage = str(error)
    except MemoryError as error:
        raise MemoryError(f"{error}; the limits are: {suspected_limits(error)}") from None
    except RuntimeError as error:
        if not (names := suspected_limits(error)):
            raise
        raise LimitError(
            f"a worker on {socket.gethostname()} hit a system limit ({error}). The limits are: {names}. Raise them, "
            "or ask for fewer workers; the same command resumes the run"
        ) from None
    if not store.root.exists():  # a new worker, on a host that does not share the directory
        raise StorageUnreachableError(
            f"a worker cannot access the run: {store.root} does not exist on {socket.gethostname()}"
        )
    raise DamagedError(damage)  # without its cause: some errors of zarr cannot be sent to the driver


def probe_store(store: RunStore, key: str) -> tuple[str, str]:
    """Return the digest of a stored file as a worker reads it, and the error if it cannot be read."""
    try:
        return store.root.digests([key])[key], ""
    except OSError as error:
        return "", str(error)


def stop_starting_tasks(execution: str, dask_worker: Worker) -> None:
    """Let a worker finish the running tasks of an execution, and skip those that are waiting."""
    setattr(dask_worker, STOPPING, {*getattr(dask_worker, STOPPING, ()), execution})


def end_process() -> None:
    """End a worker process abruptly, so that the scheduler registers its tasks as lost."""
    os._exit(1)


def run_tasks(
    tasks: Sequence[Task],
    store: RunStore,
    inputs: Sequence[tuple[Total, ...]] = (),
    memory: WorkerMemory | None = None,
) -> list[TaskReport]:
    """Run the tasks of a batch, and compare what they read with the digests of their inputs, if these are given.

    Parameters
    ----------
    memory
        The memory of all workers, for a single task; None to use that of this process.
    """
    first, *others = tasks
    named = f"{first.name} and {len(others)} more" if others else first.name
    log.info("start %s", named)
    begin = time.perf_counter()
    with measured_peak() as peak:
        try:
            outputs = [first.run_spread(store, memory)] if memory else type(first).run_together(tasks, store)
        except Exception:
            if inputs:  # damaged inputs may be the reason
                check_inputs(tasks, inputs, store.access.read, is_finished=False)
            raise
    if inputs:
        check_inputs(tasks, inputs, store.access.read, is_finished=True)
    seconds = time.perf_counter() - begin
    log.info("done %s in %.3f s", named, seconds)
    return [
        TaskReport(
            task=task.name,
            identity=task.identity,
            digests=output.digests,
            result_json=dump_json(output.result.to_json()),
            seconds=round(seconds / len(tasks), 6),
            peak_memory=peak[0],
            inputs=ledger_digest(totals) if totals else "",
        )
        for task, output, totals in zip(tasks, outputs, inputs or [()] * len(tasks), strict=True)
    ]
