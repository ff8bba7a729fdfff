"""Loaded by schedulers and workers as they start: stop the HTTP server that Dask starts in each of them.

It would tell every user of the host about the tasks and their logs, without asking who they are.
"""

from distributed.node import ServerNode


def dask_setup(server: ServerNode) -> None:
    """Called by Dask once the server listens, before it is announced to others."""
    server.http_server.stop()
