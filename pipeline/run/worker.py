"""What runs on a worker: the tasks of one batch, timed and measured."""

import logging
import os
import socket
import time
from collections.abc import Sequence

from distributed import Worker, get_worker

from kernel_pipeline.cluster.errors import ClusterError, LimitError, UnseenError
from kernel_pipeline.cluster.limits import starved
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.run.peak_memory import measured_peak
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.inputs import Total, check_inputs, ledger_digest, with_reports
from kernel_pipeline.store.reports import Finished

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)

STOPPING = "pipeline_runs_that_stop"
"""Attribute of a worker: the runs of which it starts no more tasks. It may work for other runs."""


def run_batch(
    tasks: Sequence[Task],
    inputs: Sequence[tuple[Total, ...]],
    needed: Sequence[Sequence[Finished]],
    store: RunStore,
    run: str,
    code: str,
) -> list[Finished]:
    """Run the tasks of one batch and report what they wrote; nothing, if the run is to stop.

    Parameters
    ----------
    inputs
        The ledger's digests of what each task reads; none where nothing is to be checked.
    needed
        The reports of tasks that these need and that were not in the ledger when they were sent.
    code
        The driver's fingerprint of all installed versions: a worker that has just connected may have others.
    """
    if fingerprint() != code:
        raise ClusterError("a worker connected that does not run the versions of this driver")
    if run in getattr(get_worker(), STOPPING, ()) or not all(needed):  # a task that these need was not run either
        return []
    if inputs:
        inputs = with_reports(tasks, inputs, [report.digests for reports in needed for report in reports])
    store = store.anew()  # a worker in the process of the driver is given the object of the driver
    try:
        finished = run_tasks(tasks, store, inputs)
        store.fence.check(now=True)  # the last check may be some time ago
        return finished
    except DamagedError as error:
        damage = str(error)
    except MemoryError as error:
        raise MemoryError(f"{error}; limits are: {starved(error)}") from None
    except RuntimeError as error:
        if not (names := starved(error)):
            raise
        raise LimitError(
            f"a worker on {socket.gethostname()} meets a limit of its system ({error}). Limits are: {names}. Raise it, "
            "or ask for fewer workers; the same command continues from here"
        ) from None
    if not store.root.exists():  # a new worker, on a host that does not share the directory
        raise UnseenError(f"a worker does not see the run: {store.root} is not there on {socket.gethostname()}")
    raise DamagedError(damage)  # without its cause: some errors of zarr cannot be sent to the driver


def probe_store(store: RunStore, key: str) -> tuple[str, str]:
    """Return the digest of a stored file as a worker reads it, and the error if it cannot."""
    try:
        return store.root.digests([key])[key], ""
    except OSError as error:
        return "", str(error)


def stop_taking(run: str, dask_worker: Worker) -> None:
    """Tell a worker to finish the task of a run that it runs, and to skip those that wait."""
    setattr(dask_worker, STOPPING, {*getattr(dask_worker, STOPPING, ()), run})


def end_process() -> None:
    """End a worker process like a crash, so that the scheduler knows which tasks were lost."""
    os._exit(1)


def run_tasks(tasks: Sequence[Task], store: RunStore, inputs: Sequence[tuple[Total, ...]] = ()) -> list[Finished]:
    """Run the tasks of a batch, and check what they read against the digests of their inputs, if these are given."""
    first, *others = tasks
    named = f"{first.name} and {len(others)} more" if others else first.name
    log.info("start %s", named)
    begin = time.perf_counter()
    with measured_peak() as peak:
        try:
            outputs = type(first).run_together(tasks, store)
        except Exception:
            if inputs:  # damaged inputs may be the reason
                check_inputs(tasks, inputs, store.access.read, to_the_end=False)
            raise
    if inputs:
        check_inputs(tasks, inputs, store.access.read, to_the_end=True)
    seconds = time.perf_counter() - begin
    log.info("done %s in %.3f s", named, seconds)
    return [
        Finished(
            name=task.name,
            identity=task.identity,
            digests=output.digests,
            result=output.result.to_json(),
            seconds=round(seconds / len(tasks), 6),
            peak_memory=peak[0],
            inputs=ledger_digest(totals) if totals else "",
        )
        for task, output, totals in zip(tasks, outputs, inputs or [()] * len(tasks), strict=True)
    ]
