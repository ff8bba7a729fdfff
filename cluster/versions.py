"""Check that driver and workers run the same code, since results may differ between versions."""

from collections.abc import Collection, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import cloudpickle

from kernel_pipeline.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client

LIBRARIES = ("dask", "distributed", "numpy", "scipy", "scikit-learn", "osqp", "zarr", "kernel-pipeline")
PACKAGES = ("kernel_pipeline", "kernel_pipeline.cluster", "kernel_pipeline.tasks")

Plugins = tuple[tuple[str, str], ...]
"""Packages of plug-ins: the names of the distribution and of its top-level module."""


def installed(plugins: Plugins = ()) -> dict[str, str]:
    """Return the installed versions, and a digest of the source code, which may differ within one version.

    All imports are local, because workers without this package also run this function.

    Parameters
    ----------
    plugins
        The plug-ins that a sweep uses.
    """
    import hashlib
    import platform
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec
    from pathlib import Path

    def digest(modules: Sequence[str]) -> str:
        files = []
        for module in modules:
            spec = find_spec(module)
            folders = list(spec.submodule_search_locations or ()) if spec else []
            files += [path for folder in folders for path in Path(folder).rglob("*.py")]
            files += [Path(spec.origin)] if spec and spec.origin and not folders else []
        source = hashlib.sha256()
        # In a wheel the subpackages are inside the package, in a source tree beside it; the digest is the same.
        for content in sorted({path: path.read_bytes() for path in files}.values()):
            source.update(content)
        return source.hexdigest()[:8] if files else "none"

    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in (*LIBRARIES, *(package for package, _ in plugins)):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "none"
    found["source of kernel-pipeline"] = digest(PACKAGES if find_spec(PACKAGES[0]) else ())
    return found | {f"source of {package}": digest([module]) for package, module in plugins}


@cache
def fingerprint(plugins: Plugins = ()) -> str:
    """Return a digest of the installed versions, for workers that receive tasks before they are checked."""
    return sha256(repr(sorted(installed(plugins).items())).encode()).hexdigest()[:16]


def check_versions(client: "Client", workers: Collection[str], plugins: Plugins = ()) -> None:
    """Check that workers have the same versions as the driver, including those of the plug-ins that a sweep uses.

    Raises
    ------
    ClusterError
        If the versions differ; the message contains a table of the differences.
    """
    import platform
    import sys

    # Pickled by value, because the package may be missing where the worker runs.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        found = client.run(installed, plugins, workers=list(workers), on_error="return")
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    for worker, error in found.items():
        if isinstance(error, Exception) and not isinstance(error, OSError):  # an OSError means that the worker has left
            raise ClusterError(
                f"the worker {worker} cannot run functions of this driver ({type(error).__name__}: {error}); it may "
                f"have another version of Python than {platform.python_version()}. Install the same versions "
                "for the workers"
            )
    ours = installed(plugins)
    wrong = {worker: theirs for worker, theirs in found.items() if isinstance(theirs, dict) and theirs != ours}
    if wrong:
        raise ClusterError(
            f"{len(wrong)} of {len(workers)} workers have other versions than this driver:\n{_table(ours, wrong)}\n"
            "Install the same versions for the workers, and run the same command again"
        )


def _table(ours: dict[str, str], wrong: dict[str, dict[str, str]]) -> str:
    """Return a table with one line per difference and one column per group of workers with the same versions."""
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
