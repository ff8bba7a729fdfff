"""Add entries to registries for the duration of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kernel_pipeline.cluster import backend
from kernel_pipeline.tasks.registry import Registry


@contextmanager
def registered(registry: Registry[Any], name: str, entry: object) -> Iterator[None]:
    """Add one entry to a registry."""
    registry.register(name)(entry)
    try:
        yield
    finally:
        registry.unregister(name)


@contextmanager
def toy_backend() -> Iterator[None]:
    """Add the cluster backend of this folder, which is registered when its module is imported."""
    from tests.pipeline.test_extensions.toy_backend import Toy

    backend.register("toy")(Toy)  # the module may have been imported before
    try:
        yield
    finally:
        del backend.REGISTERED["toy"]  # built-in backends that were imported meanwhile stay
