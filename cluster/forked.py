"""Ignore Ctrl-C and SIGTERM in workers and in the process that they are forked from, which imports this module.

A terminal sends Ctrl-C to every process, and a batch system sends SIGTERM to every process of a job. The driver then
stops the run cleanly; the workers, and the process that they are forked from, must keep running until the driver ends
them.
"""

import signal

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)  # inherited by all forked processes
