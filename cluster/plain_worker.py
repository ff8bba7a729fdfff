"""Define a worker without a dashboard, for workers that are threads of the driver."""

from typing import Any

from distributed import Worker


class PlainWorker(Worker):
    """A worker that does not import the dashboard, which saves one second.

    `LocalCluster` enables the dashboard of all workers if their HTTP servers have an address.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"dashboard": False})
