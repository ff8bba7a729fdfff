"""Measure the memory of the driver and the scheduler for a large sweep, and their time per task.

    python -m tests.benchmarks.bench_graph [--tiles 100000] [--cells 100000] [--datasets 10] [--workers 2]

Runs empty tasks with the real execution, cluster, ledger and tables. The process of the driver contains the scheduler,
so its memory is that of both; the benchmark fails if it uses 1 GiB or more. CPU times are those of this process. On a
machine with fewer cores than processes, wall times include those of the workers.
"""

import argparse
import os
import sys

from kernel_pipeline.text import format_bytes
from tests.benchmarks.driver_cost import DriverCost, measure_driver

LIMIT = 1 << 30
# Number of samples of the memory that are printed.
SHOWN = 5


def show(cost: DriverCost) -> None:
    """Print the memory, and the time of each part."""
    milliseconds = 1000 / cost.tasks
    print(f"{cost.tasks:,} tasks, {cost.workers} workers, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"peak memory of driver + scheduler, tables included: {format_bytes(cost.peak)}")
    for finished, resident in cost.growth[:: max(1, len(cost.growth) // SHOWN)]:
        print(f"    {finished:9,} finished: {format_bytes(resident)}")
    print(f"largest number of tasks in the scheduler: {cost.max_known}")
    print(f"{cost.seconds:.1f} s, {cost.seconds * milliseconds:.3f} ms per task (wall time); in ms per task:")
    print(f"{'':24}     wall      CPU")
    print(f"  {'driver + scheduler':22} {cost.seconds * milliseconds:8.3f} {cost.cpu * milliseconds:8.3f}")
    print(f"    {'event loop: scheduler':20} {'':8} {cost.loop_cpu * milliseconds:8.3f}")
    for part, wall in cost.wall.items():
        print(f"    {'driver: ' + part:20} {wall * milliseconds:8.3f} {cost.own_cpu[part] * milliseconds:8.3f}")
    waiting = cost.seconds - sum(cost.wall.values())
    print(f"    {'driver: waiting':20} {waiting * milliseconds:8.3f}")
    print(
        f"{cost.appends:,} appends to the ledger, {cost.tasks / cost.appends:.1f} tasks and "
        f"{cost.seconds_per_sync * 1000:.2f} ms of fsync each"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiles", type=int, default=100_000)
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--datasets", type=int, default=10)
    parser.add_argument("--workers", type=int)
    arguments = parser.parse_args()
    cost = measure_driver(arguments.tiles, arguments.cells, arguments.datasets, arguments.workers)
    show(cost)
    if cost.peak >= LIMIT:
        sys.exit(f"the driver and the scheduler used {format_bytes(cost.peak)}; the limit is {format_bytes(LIMIT)}")


if __name__ == "__main__":
    main()
