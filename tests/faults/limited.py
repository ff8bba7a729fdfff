"""Run commands one after the other in a process with limited memory, and print a JSON object for each."""

import json
import resource
import signal
import sys
import time
from pathlib import Path

from tests.faults.harness import command, no_workers

GIB = 1 << 30
TIMEOUT_S = 30


def limit_memory() -> None:
    """Limit the memory of this process to 1 GiB, including what it already uses."""
    pages, resident = map(int, Path("/proc/self/statm").read_text().split()[:2])
    size = resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, 2 * ((pages - resident) * size + GIB,))


def main() -> None:
    """Run command lines from a JSON list of lists; the first, which imports the modules, has no memory limit."""
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("a command exceeded the time limit"))
    with no_workers():
        for number, arguments in enumerate(json.load(sys.stdin)):
            if number == 1:
                limit_memory()
            signal.alarm(TIMEOUT_S)
            begin = time.monotonic()
            done = command(*arguments)
            failed = done.exception and not isinstance(done.exception, SystemExit)
            said = {"output": done.output[-500:], "code": done.exit_code, "seconds": time.monotonic() - begin}
            sys.stdout.write(json.dumps(said | {"failed": repr(done.exception)[:300] if failed else ""}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
