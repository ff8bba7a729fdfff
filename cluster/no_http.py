"""Stop the HTTP servers of schedulers and workers, which preload this module.

These servers have no authentication, so they would show tasks and logs to all users of the host.
"""

from distributed.node import ServerNode


def dask_setup(server: ServerNode) -> None:
    """Stop the HTTP server; Dask calls this once the server listens, before it is announced to others."""
    server.http_server.stop()
