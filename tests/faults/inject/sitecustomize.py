"""Inject faults into the processes of a run: Python imports this module at startup if its folder is on PYTHONPATH.

FAULT, a JSON value that `tests.faults.inject` writes, describes the faults by function and process. The forkserver from
which workers are forked starts with the same environment, so that the faults occur in workers, too.
"""

import errno
import functools
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

PLAN: dict[str, Any] = json.loads(os.environ.get("FAULT", '{"faults": []}'))
NOTES = Path(PLAN.get("notes", ""))
"""Folder in which processes record their calls, for each other and for the test."""
PROCESS = "worker" if re.search("multiprocessing|dask worker", " ".join(sys.orig_argv)) else "driver"
OWN = [(number, fault) for number, fault in enumerate(PLAN["faults"]) if fault["process"] == PROCESS]
ERRORS: dict[str, Callable[[], Exception]] = {
    "EIO": lambda: OSError(errno.EIO, os.strerror(errno.EIO)),
    "ValueError": lambda: ValueError("injected"),
}
POLL = 0.01


def names_in(arguments: Sequence[object]) -> Iterator[str]:
    """Yield the names of tasks, the keys and the paths among the arguments of a call."""
    for argument in arguments:
        if isinstance(argument, (list, tuple)):
            yield from names_in(argument)
        elif isinstance(argument, (str, Path)):
            yield str(argument)
        elif isinstance(name := getattr(argument, "name", None), str):
            yield name


def count(number: int) -> int:
    """Return the number of this call over all processes, starting at 1."""
    call = 1
    while True:
        try:
            os.close(os.open(NOTES / f"{number}-{call}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            call += 1
        else:
            return call


def trigger(fault: dict[str, Any]) -> None:
    """Trigger a fault."""
    match fault["do"]:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(1)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "kill the driver":
            os.kill(int((NOTES / "driver").read_text()), signal.SIGKILL)
            time.sleep(fault["seconds"])
        case "raise":
            raise ERRORS[fault["error"]]()
        case "sleep":
            time.sleep(fault["seconds"])
        case "wait" | "hog":
            _held = b"x" * fault["size"]
            (NOTES / "waiting").touch()
            end = time.monotonic() + fault["seconds"]
            while not (NOTES / "go").exists() and time.monotonic() < end:
                time.sleep(POLL)
        case other:
            raise AssertionError(f"unknown fault in FAULT: {other!r}")


def tear(path: Path, size: int) -> None:
    """Keep only half of what was appended to a file, like a machine that stops in the middle, and end the process."""
    with path.open("r+b") as file:
        file.truncate((size + path.stat().st_size) // 2)
        os.fsync(file.fileno())
    os.kill(os.getpid(), signal.SIGKILL)


def faulty(function: Callable[..., Any], number: int, fault: dict[str, Any]) -> Callable[..., Any]:
    """Wrap a function so that a fault occurs in some of its calls."""

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        if fault["of"] not in " ".join(names_in(arguments)):
            return function(*arguments, **options)
        due = 0 <= count(number) - fault["first"] < fault["times"]
        if due and fault["do"] == "tear":
            path: Path = arguments[0].journal.path
            size = path.stat().st_size if path.exists() else 0
            function(*arguments, **options)
            tear(path, size)
        if due and not fault["after"]:
            trigger(fault)
        result = function(*arguments, **options)
        if due and fault["after"]:
            trigger(fault)
        return result

    return wrapper


class Loader(SourceFileLoader):
    """Adds the faults to a module after its import, before other modules import functions from it."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for number, fault in OWN:
            where, _, what = fault["at"].partition(":")
            if where == module.__name__ and not what:
                faulty(lambda: None, number, fault)()
            elif where == module.__name__:
                *owners, name = what.split(".")
                owner = functools.reduce(getattr, owners, module)
                setattr(owner, name, faulty(getattr(owner, name), number, fault))


class Finder(MetaPathFinder):
    """Finds the modules that have faults."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(fault["at"].startswith(f"{fullname}:") for _, fault in OWN):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and spec.origin:
            spec.loader = Loader(fullname, spec.origin)
        return spec


if OWN:
    sys.meta_path.insert(0, Finder())
if PLAN["faults"] and PROCESS == "driver":
    (NOTES / "driver").write_text(str(os.getpid()))
