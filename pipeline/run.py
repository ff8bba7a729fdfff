"""A whole run: config, plan, tasks, store, tables."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from cluster import open_cluster, worker_limits
from pipeline import memory
from pipeline.config import Config
from pipeline.directory import check_directory, default_directory, free_bytes, ledger_path, prepare_directory
from pipeline.layout import LOGS, create_arrays
from pipeline.ledger import Ledger
from pipeline.plan import Plan, make_plan
from pipeline.plan_view import print_notes
from pipeline.progress import Progress
from pipeline.samples import load_samples
from pipeline.schedule import Schedule, execute
from pipeline.store import RunStore
from pipeline.summary import print_correlation, print_summary, summarise, write_summary
from pipeline.tables import read_correlation, write_tables
from pipeline.task import Finished

log = logging.getLogger("pipeline")

FAILED_CELLS = 3


def run_sweep(
    config: Config, folder: Path, out: Path | None, cluster: str, workers: int | None, console: Console
) -> int:
    """Run a sweep, or go on with it, and show its summary.

    Returns
    -------
    The exit code: 0, or 3 if some cells failed.
    """
    begin = time.monotonic()
    samples = [load_samples(config, dataset, folder) for dataset in config.dataset]
    plan = make_plan(config, samples)
    root = out or default_directory(config)
    count, limit = worker_limits(cluster, workers)
    plan.check_memory(limit, count)
    check_directory(root, config, samples)
    ledger = Ledger(ledger_path(root))
    store = RunStore(root.absolute())
    finished = still_valid(plan, ledger.read(), store)
    if not finished:
        plan.check_disk(free_bytes(root), str(root))
    prepare_directory(root, config, samples)
    total = len(plan.tasks)
    _announce(console, plan, root, len(finished), total)
    with _driver_log(root):
        log.info("start: %d of %d tasks are done", len(finished), total)
        if len(finished) < total:
            for dataset, loaded in zip(plan.datasets, samples, strict=True):
                create_arrays(root, dataset, loaded)
            _run_tasks(plan, finished, ledger, store, cluster, count, console)
        rows = write_tables(root, plan, finished)
        summary = summarise(rows)
        write_summary(root, summary)
        log.info("end after %.1f s", time.monotonic() - begin)
    print_summary(console, summary)
    if (correlation := read_correlation(root)) is not None:
        print_correlation(console, correlation)
    failed = rows[rows["status"] != "ok"]
    for row in failed.itertuples():
        console.print(
            f"[bold]{row.dataset}, {row.task}, {row.method}, trial {row.trial}[/bold] {row.status}", highlight=False
        )
    _say_where(console, root, time.monotonic() - begin)
    return FAILED_CELLS if len(failed) else 0


def still_valid(plan: Plan, recorded: dict[str, Finished], store: RunStore) -> dict[str, Finished]:
    """The recorded tasks that belong to the plan and whose chunks are in the store with the recorded checksums."""
    return {
        task.name: done
        for task in plan.tasks
        if (done := recorded.get(task.name)) is not None
        and done.identity == task.identity
        and all(store.stored_checksum(key) == digest for key, digest in done.digests.items())
    }


def _run_tasks(
    plan: Plan,
    finished: dict[str, Finished],
    ledger: Ledger,
    store: RunStore,
    cluster: str,
    workers: int,
    console: Console,
) -> None:
    with open_cluster(cluster, workers, Path(store.root) / LOGS) as opened:
        console.print(f"{opened.workers} workers; dashboard: {opened.dashboard}", highlight=False)
        with Progress(console, plan) as progress:
            for done in finished.values():
                progress.advance(_stage(done))

            def record(done: Finished) -> None:
                ledger.append(done)
                finished[done.name] = done
                log.info("done %s in %.3f s", done.name, done.seconds)
                for line in _constant_kernels(plan, done):
                    console.print(line, highlight=False, soft_wrap=True, markup=False)
                progress.advance(_stage(done))

            execute(opened.client, opened.workers, Schedule(plan, set(finished)), store, record)


def _stage(done: Finished) -> str:
    return done.name.partition("/")[0]


def _constant_kernels(plan: Plan, done: Finished) -> Iterator[str]:
    """Says once, for the kernels of a dataset, which do not vary on the training set of some trials."""
    constant = done.result.get("constant", {"count": 0, "first": []})
    if not constant["count"]:
        return
    dataset = next(d for d in plan.datasets if d.name == done.name.split("/")[1])
    named = [
        f"{dataset.kernels[kernel]} ({'every trial' if len(trials) == dataset.folds else _trials(trials)})"
        for kernel, trials in constant["first"]
    ]
    more = constant["count"] - len(named)
    yield (
        f"note: dataset {dataset.name!r}: {constant['count']:,} of {len(dataset.kernels):,} kernels are constant on a "
        f"training set; their weight there is 0: {', '.join(named)}{f' and {more:,} more' if more else ''}"
    )


def _trials(numbers: list[int]) -> str:
    return f"trial {', '.join(map(str, numbers))}"


def _announce(console: Console, plan: Plan, root: Path, done: int, total: int) -> None:
    config = plan.config
    console.print(
        f"[bold]{config.name}[/bold]: {len(plan.datasets)} dataset(s), {len(config.methods)} method(s), "
        f"{config.protocol.folds} trials; {total - done} of {total} tasks to do, "
        f"{memory.text(plan.disk_bytes)} of arrays in {escape(str(root))}",
        highlight=False,
        soft_wrap=True,
    )
    print_notes(console, plan)


def _say_where(console: Console, root: Path, seconds: float) -> None:
    where = escape(str(root))
    console.print(
        f"Done in {seconds:.1f} s. The tables are in {where}/results: "
        "rows.csv (a row a trial), summary.md, summary.tex, path.csv, kernels.csv, bounds.csv and more.\n"
        f"Look further: `pipeline status {where}`; the same command again goes on where a run stopped.",
        highlight=False,
        soft_wrap=True,
    )


@contextmanager
def _driver_log(root: Path) -> Iterator[None]:
    handler = logging.FileHandler(root / LOGS / "driver.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
