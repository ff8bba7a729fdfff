"""Prevent worker processes from importing the script of the user.

A process that is started by a fork server or by spawning imports the main module of its parent. A script without
`if __name__ == "__main__":` would then start the run again in every worker. Tasks do not need that module.
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
    """Return the data from which a new process is set up; for workers, without the main module."""
    data: dict[str, Any] = _original(name)
    hidden = KEYS if name.startswith(WORKER_PROCESS) else ()
    return {key: value for key, value in data.items() if key not in hidden}


@contextmanager
def main_module_hidden() -> Iterator[None]:
    """Start worker processes in the block without importing the main module; other processes still import it."""
    _change_blocks(1)
    try:
        yield
    finally:
        _change_blocks(-1)


def _change_blocks(change: int) -> None:
    """Count the open blocks, and hide the main module while there is one."""
    global _blocks
    with _lock:  # runs may overlap in several threads
        _blocks += change
        spawn.get_preparation_data = _without_main if _blocks else _original
