"""Imported once by the process that workers are forked from.

A terminal sends Ctrl-C to every process, and a batch system warns every process of a job by SIGTERM. The driver then
stops the run in order; workers, and the process that they came from, have to last until it tells them to end.
"""

import signal

for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)  # what is forked from here inherits it
