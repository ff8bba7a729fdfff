"""Addresses of runs and of their arrays: a folder of this machine, or s3://bucket/prefix."""

from pathlib import Path

from kernel_pipeline.config.s3_address import SCHEME, parse_s3
from kernel_pipeline.errors import ConfigError, MissingExtraError
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.storage import Storage


def storage_at(address: str | Path) -> Storage:
    """The place that an address names; nothing is asked of it yet."""
    if not SCHEME.match(str(address)):
        return LocalStorage(address)
    try:
        parsed = parse_s3(str(address))
    except ValueError as error:
        raise ConfigError(f"the address of a run, if it is no folder, {error}") from None
    try:
        from kernel_pipeline.store.object_storage import (
            ObjectStorage,  # brings obstore and boto3, which a folder does not need
        )
    except ImportError as error:
        raise MissingExtraError("s3:// addresses", "s3", error) from None
    return ObjectStorage(parsed)


def open_storage(address: str | Path) -> Storage:
    """The place that an address names, if it can be reached."""
    root = storage_at(address)
    root.check_access()
    return root
