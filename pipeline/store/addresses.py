"""Open the storage of a run by its address: a local folder, or s3://bucket/prefix."""

from pathlib import Path

from kernel_pipeline.config.s3_address import SCHEME, parse_s3
from kernel_pipeline.errors import ConfigError, MissingExtraError
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.storage import Storage


def storage_at(address: str | Path) -> Storage:
    """Return the storage at an address, without accessing it."""
    if not SCHEME.match(str(address)):
        return LocalStorage(address)
    try:
        parsed = parse_s3(str(address))
    except ValueError as error:
        raise ConfigError(f"the address of a run that is not in a local folder {error}") from None
    try:
        from kernel_pipeline.store.object_storage import (
            ObjectStorage,  # imports obstore and boto3, which a local folder does not need
        )
    except ImportError as error:
        raise MissingExtraError("s3:// addresses", "s3", error) from None
    return ObjectStorage(parsed)


def open_storage(address: str | Path) -> Storage:
    """Return the storage at an address, after checking that it can be reached."""
    root = storage_at(address)
    root.check_access()
    return root
