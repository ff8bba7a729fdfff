"""Worker processes that do not import the script of the user.

A process that is started by a fork server or by spawning imports the main module of its parent. In a script without
`if __name__ == "__main__":` that would start the run again in every worker. Tasks need nothing of that module.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import spawn
from typing import Any

WORKER_PROCESS = "Dask Worker process"
"""Beginning of the name that Dask gives to worker processes."""
KEYS = ("init_main_from_name", "init_main_from_path")

_lock = threading.Lock()
_blocks = 0
_original = spawn.get_preparation_data


def _without_main(name: str) -> dict[str, Any]:
    """Return what a new process is told about this one; workers are not told of the main module."""
    data: dict[str, Any] = _original(name)
    hidden = KEYS if name.startswith(WORKER_PROCESS) else ()
    return {key: value for key, value in data.items() if key not in hidden}


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Let worker processes that are started in the block not import the main module; other processes still do."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global _blocks
    with _lock:  # runs may overlap in several threads
        _blocks += change
        spawn.get_preparation_data = _without_main if _blocks else _original
