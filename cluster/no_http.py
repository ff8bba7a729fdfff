"""Module that schedulers and workers preload: it stops the HTTP server that Dask starts in each of them.

Without authentication, this server would show tasks and logs to all users of the host.
"""

from distributed.node import ServerNode


def dask_setup(server: ServerNode) -> None:
    """Stop the HTTP server; Dask calls this once the server listens, before it is announced to others."""
    server.http_server.stop()
