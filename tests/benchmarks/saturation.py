"""Compute the number of workers at which the driver or the store becomes the bottleneck, from measurements."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks.driver_cost import DriverCost

WORKERS = (10, 100, 1000)
GB = 1e9


@dataclass(frozen=True)
class Kind:
    """Tasks of one size."""

    name: str
    seconds: float
    """Seconds of a task on a worker."""
    stored: float
    """Bytes that each task writes."""
    count: int
    """Number of tasks in a sweep, which cannot use more workers than that."""


def print_saturation(kinds: Sequence[Kind], cost: DriverCost, bandwidth: float) -> None:
    """Print the load of the driver, the tasks per sync of the ledger and the rate of writing for each kind of task.

    Parameters
    ----------
    bandwidth
        Bytes per second that the store can write to the disk.
    """
    print(
        f"A task takes {cost.cpu_per_task * 1000:.2f} ms on the core that driver and scheduler share (at "
        f"{cost.workers} workers), a sync of the ledger {cost.seconds_per_sync * 1000:.1f} ms; the store writes "
        f"{bandwidth / GB:.2f} GB/s"
    )
    print(f"{'tasks':22} {'s/task':>8} {'workers':>8} {'tasks/s':>8} {'driver':>8} {'per sync':>8} {'GB/s':>8}  limit")
    for kind in kinds:
        limits = {"driver": kind.seconds / cost.cpu_per_task, "number of tasks": kind.count}
        if kind.stored:
            limits["store"] = bandwidth * kind.seconds / kind.stored
        for workers in WORKERS:
            rate = workers / kind.seconds
            reached = {name: number for name, number in limits.items() if workers > number}
            limit = min(reached, key=reached.__getitem__) if reached else ""
            print(
                f"{kind.name:22} {kind.seconds:8.3f} {workers:8,} {rate:8.1f} {rate * cost.cpu_per_task:8.1%} "
                f"{max(1.0, rate * cost.seconds_per_sync):8.1f} {rate * kind.stored / GB:8.2f}  {limit}"
            )
        print(
            f"{'':22} at most " + ", ".join(f"{number:,.0f} workers by the {name}" for name, number in limits.items())
        )
    print(
        "driver: share of its core. per sync: tasks that share one sync of the ledger; the number grows with the rate,"
    )
    print("so that a sync delays tasks but is never the bottleneck.")
