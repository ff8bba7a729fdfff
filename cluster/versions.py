"""Driver and workers run the same code, or nothing runs: tasks, results and their digits depend on it."""

from collections.abc import Collection
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import cloudpickle

from kernel_pipeline.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

LIBRARIES = ("dask", "distributed", "numpy", "scipy", "scikit-learn", "osqp", "zarr", "kernel-pipeline")
PACKAGES = ("kernel_pipeline", "kernel_pipeline.cluster", "kernel_pipeline.tasks")


def installed() -> dict[str, str]:
    """What is installed where this runs; the source counts too, since a version may stand for many a state of it."""
    import hashlib
    import platform
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec
    from pathlib import Path

    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    specs = [find_spec(package) for package in PACKAGES] if find_spec(PACKAGES[0]) else []
    folders = [Path(spec.origin).parent for spec in specs if spec is not None and spec.origin]
    source = hashlib.sha256()
    # In a wheel the subpackages lie below the package, in a source tree beside it; the digest is the same.
    for content in sorted({path: path.read_bytes() for folder in folders for path in folder.rglob("*.py")}.values()):
        source.update(content)
    return found | {"its source": source.hexdigest()[:8] if folders else "none"}


@cache
def fingerprint() -> str:
    """A digest of what is installed, for workers that get work before anyone could ask them."""
    return sha256(repr(sorted(installed().items())).encode()).hexdigest()[:16]


def check_versions(client: "Client", workers: Collection[str]) -> None:
    """Refuse workers that have other versions than the driver, with a table of the differences."""
    import platform
    import sys

    # By value: where the package is missing there is nothing to refer to.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        found = client.run(installed, workers=list(workers), on_error="return")
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    for worker, error in found.items():
        if isinstance(error, Exception) and not isinstance(error, OSError):  # that would be one that has left
            raise ClusterError(
                f"the worker {worker} cannot run what this driver sends ({type(error).__name__}: {error}); it may have "
                f"another Python than {platform.python_version()}. Install the same versions where workers run"
            )
    ours = installed()
    wrong = {worker: theirs for worker, theirs in found.items() if isinstance(theirs, dict) and theirs != ours}
    if wrong:
        raise ClusterError(
            f"{len(wrong)} of {len(workers)} workers do not run what this driver runs:\n{_table(ours, wrong)}\n"
            "Install the same versions where workers run, and run the same command again"
        )


def _table(ours: dict[str, str], wrong: dict[str, dict[str, str]]) -> str:
    """A line for each thing that differs, a column for each kind of worker."""
    kinds: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for worker, theirs in wrong.items():
        kinds.setdefault(tuple(theirs.items()), []).append(worker)
    columns = [{"": "driver", **ours}]
    for kind, workers in kinds.items():
        more = f" and {len(workers) - 1} more" if len(workers) > 1 else ""
        columns.append({"": workers[0] + more, **dict(kind)})
    rows = [name for name in columns[0] if len({column[name] for column in columns}) > 1]
    columns.insert(0, {name: name for name in rows})
    widths = [max(len(column[name]) for name in rows) for column in columns]
    cells = [[f"{column[name]:{width}}" for column, width in zip(columns, widths, strict=True)] for name in rows]
    return "\n".join("  " + "  ".join(line).rstrip() for line in cells)
