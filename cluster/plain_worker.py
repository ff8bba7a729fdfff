"""Define a worker without a dashboard, for workers that are threads of the driver."""

from typing import Any

from distributed import Worker


class PlainWorker(Worker):
    """A worker that does not import the dashboard, which takes a second, although its HTTP server has an address."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"dashboard": False})
