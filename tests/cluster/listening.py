"""Addresses at which the processes of a test listen."""

import psutil


def listening() -> set[str]:
    """Return the addresses at which this process and its child processes listen."""
    this = psutil.Process()
    return {
        f"{connection.laddr.ip}:{connection.laddr.port}"
        for process in (this, *this.children(recursive=True))
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
