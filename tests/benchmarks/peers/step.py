"""One step of the comparison, in a process and an environment of its own; prints one line of JSON.

    python -m tests.benchmarks.peers.step data  MODULE PROBLEM -  N,P DATA.npz
    python -m tests.benchmarks.peers.step run   MODULE PROBLEM PROGRAM DATA.npz ANSWER.npz
    python -m tests.benchmarks.peers.step score MODULE PROBLEM -  DATA.npz ANSWER.npz

PROBLEM and PROGRAM are numbers. Steps run in processes of their own because the peak memory of a process includes that
of the process which started it. This module must not import the package, which is missing in the environments of peers.
"""

import contextlib
import ctypes
import json
import os
import resource
import sys
import time

import numpy as np

from tests.benchmarks.peers.peer import Arrays, Program, Size, load_peer

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of processes that outlive their parents, such as workers, so that their usage is counted."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for_children() -> None:
    """Wait for all child processes: only the usage of finished ones is counted."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def peak_mib() -> float:
    """Return the largest memory that this process, or one of its child processes, has used so far."""
    users = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(user).ru_maxrss for user in users) / 1024  # Linux counts in kilobytes


def cpu_seconds() -> float:
    """Return the processor time of this process and its finished child processes."""
    used = [resource.getrusage(user) for user in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def load(path: str) -> Arrays:
    """Read all arrays of a file."""
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def measure(program: Program, data: Arrays, answer: str) -> dict[str, float]:
    """Run a program once, and write its answer."""
    adopt_orphans()
    call = program.prepare(data)
    used, begin = cpu_seconds(), time.perf_counter()
    found = call()
    seconds = time.perf_counter() - begin
    wait_for_children()
    result = {"seconds": seconds, "cpu": cpu_seconds() - used, "mib": peak_mib()}
    np.savez(answer, **found)
    return result


def main() -> None:
    action, module, problem_number, program_number, first, second = sys.argv[1:]
    problem = load_peer(module).problems[int(problem_number)]
    result: dict[str, float] = {}
    if action == "data":
        n, p = first.split(",")
        np.savez(second, **problem.data(Size(int(n), int(p))))
    elif action == "score":
        result.update(problem.score(load(first), load(second)))
    else:
        result.update(measure(problem.programs[int(program_number)], load(first), second))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
