"""Stop the HTTP servers of schedulers and workers, which preload this module.

These servers have no authentication, so they would show tasks and logs to all users of the host.
"""

from distributed.node import ServerNode


def dask_setup(server: ServerNode) -> None:
    """Stop the HTTP server; called by Dask as soon as a scheduler or worker listens, before others know its address."""
    server.http_server.stop()
