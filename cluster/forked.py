"""Module that is imported once by the process that workers are forked from.

A terminal sends Ctrl-C to every process, and a batch system sends SIGTERM to every process of a job. The driver then
stops the run cleanly; the workers, and the process that they are forked from, must keep running until the driver ends
them.
"""

import signal

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)  # inherited by all forked processes
