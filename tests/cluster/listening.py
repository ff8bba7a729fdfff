"""Addresses at which processes of this test listen."""

import psutil


def listening() -> set[str]:
    """The addresses at which this process and all that it started listen."""
    this = psutil.Process()
    return {
        f"{connection.laddr.ip}:{connection.laddr.port}"
        for process in (this, *this.children(recursive=True))
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    }
