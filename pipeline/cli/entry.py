"""Start the command line. Ctrl-C is handled from the beginning, also while modules are imported."""

import atexit
import os
import sys
from contextlib import suppress

from kernel_pipeline.cli.stopping import report_stop

MPI = "mpi4py.MPI"
"""Module whose processes must be ended by the interpreter, which finalises MPI."""


def main() -> None:
    """Import and run the command line, and end the process with the exit code of the command."""
    try:
        from kernel_pipeline.cli.main import main as commands
    except KeyboardInterrupt:
        sys.exit(report_stop(sys.argv[1:]))
    try:
        commands()
    except SystemExit as stop:
        if isinstance(stop.code, int) and MPI not in sys.modules:
            _end_process(stop.code)
        raise


def _end_process(code: int) -> None:
    """Run the registered exit functions, and end the process.

    The interpreter would free each object and module first, which takes half a second after a run.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # it may be closed, or None
            stream.flush()
    os._exit(code)
