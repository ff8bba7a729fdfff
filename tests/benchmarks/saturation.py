"""At how many workers the driver, or the store, is the limit: computed from what was measured."""

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
    """On a worker."""
    stored: float
    """Bytes that each writes."""
    count: int
    """Of one sweep: more workers than tasks have nothing to do."""


def print_saturation(kinds: Sequence[Kind], cost: DriverCost, bandwidth: float) -> None:
    """For each kind of task: how busy the driver's process is, what share a sync of the ledger has, what is written.

    Parameters
    ----------
    bandwidth
        Bytes a second that the store takes in for good.
    """
    print(
        f"A task costs driver + scheduler {cost.cpu_a_task * 1000:.2f} ms of the one core that they share (at "
        f"{cost.workers} workers), a sync of the ledger {cost.seconds_a_sync * 1000:.1f} ms; the store takes "
        f"{bandwidth / GB:.2f} GB/s"
    )
    print(f"{'tasks':22} {'s a task':>8} {'workers':>8} {'tasks/s':>8} {'driver':>8} {'a sync':>8} {'GB/s':>8}  limit")
    for kind in kinds:
        most = {"driver": kind.seconds / cost.cpu_a_task, "number of tasks": kind.count}
        if kind.stored:
            most["store"] = bandwidth * kind.seconds / kind.stored
        for workers in WORKERS:
            rate = workers / kind.seconds
            reached = {name: number for name, number in most.items() if workers > number}
            limit = min(reached, key=reached.__getitem__) if reached else ""
            print(
                f"{kind.name:22} {kind.seconds:8.3f} {workers:8,} {rate:8.1f} {rate * cost.cpu_a_task:8.1%} "
                f"{max(1.0, rate * cost.seconds_a_sync):8.1f} {rate * kind.stored / GB:8.2f}  {limit}"
            )
        print(f"{'':22} at most " + ", ".join(f"{number:,.0f} workers by the {name}" for name, number in most.items()))
    print("driver: share of its core. a sync: tasks that one sync of the ledger writes down; more of them share it,")
    print("so that it delays and never limits.")
