"""Connect to an object store, and translate its errors into those of files.

Credentials are read by boto3 and used only for requests to the store: they are not stored, shown or sent elsewhere.
"""

import asyncio
import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import boto3
import obstore
from botocore.exceptions import BotoCoreError
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import S3Store
from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import ObjectStore

from kernel_pipeline.errors import RefusedError, UnreachableError
from kernel_pipeline.store.access import Access

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

STATUS = re.compile(r"status code: (\d{3})")
CODE = re.compile(r"<Code>(\w+)</Code>")
# Wait for a server that restarts or is overloaded; less than five minutes, so that signatures stay valid.
LONG_RETRY: "RetryConfig" = {
    "max_retries": 100,
    "retry_timeout": timedelta(minutes=3),
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=5), "base": 2},
}
# Used for the check before a run, where an error should be reported soon.
SHORT_RETRY: "RetryConfig" = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}
# Credentials of roles expire; boto3 renews them when less than a quarter of an hour is left.
CREDENTIALS_TTL = timedelta(minutes=10)
# Larger chunks are uploaded in parts. A single request leaves no partial upload after a crash.
MAX_REQUEST_BYTES = 32 << 20
NO_CREDENTIALS = (
    "no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or write "
    "~/.aws/credentials"
)


@dataclass(frozen=True)
class Connection:
    """Endpoint, region and credentials of an object store."""

    endpoint: str
    region: str
    credentials: Boto3CredentialProvider

    @classmethod
    def from_environment(cls) -> "Connection":
        """Return the connection that boto3 finds in the environment; AWS_REGION is used too, unlike in boto3."""
        try:
            session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
            if session.get_credentials() is None:
                raise RefusedError(NO_CREDENTIALS)
            found = session.client("s3").meta
            return cls(found.endpoint_url, found.region_name, Boto3CredentialProvider(session, ttl=CREDENTIALS_TTL))
        except BotoCoreError as error:
            raise RefusedError(
                f"the settings of the object store cannot be used: {str(error).rstrip('.')}. Correct the AWS_* "
                "variables in the environment, or ~/.aws/config"
            ) from None
        except ValueError:  # its message is not shown, since it may contain a password from the address
            raise RefusedError("AWS_ENDPOINT_URL is not an address such as https://host:port; correct it") from None

    def open(self, bucket: str, prefix: str, retries: "RetryConfig" = LONG_RETRY) -> S3Store:
        """Return the store at a prefix in a bucket, without accessing it."""
        options: ClientConfig = {
            "allow_http": self.endpoint.startswith("http://"),  # only if the user has set such an endpoint
            "connect_timeout": timedelta(seconds=5),
            "timeout": timedelta(minutes=4),
        }
        return S3Store(
            bucket,
            prefix=prefix or None,
            endpoint=self.endpoint,
            region=self.region,
            client_options=options,
            retry_config=retries,
            credential_provider=self.credentials,
        )


@contextmanager
def as_file_errors(where: str) -> Iterator[None]:
    """Translate errors of the object store into `OSError`s with short messages that do not quote the request."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), where) from None
    except (AlreadyExistsError, PreconditionError):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), where) from None
    except BaseError as error:
        raise _unreachable_error(error, where) from None


def status_of(error: BaseError) -> int:
    """Return the HTTP status of the response; 0 if there was no response."""
    found = STATUS.search(str(error))
    return int(found[1]) if found else 0


def _unreachable_error(error: BaseError, where: str) -> UnreachableError:
    status, code = status_of(error), CODE.search(str(error))
    reason = f" ({code[1]})" if code else ""
    if status in (401, 403) or isinstance(error, PermissionDeniedError | UnauthenticatedError):
        message = f"the object store refuses access{reason}; check the credentials and their permissions"
        return UnreachableError(errno.EACCES, message, where)
    if code and code[1] == "NoSuchBucket":
        return UnreachableError(errno.ENOENT, "the bucket does not exist; create it, or choose another one", where)
    message = f"the object store responded with {status}{reason}" if status else "the object store does not answer"
    return UnreachableError(errno.EIO, message, where)


class ArrayStore(ObjectStore[S3Store]):
    """A zarr store on an object store that checks each write, and records the chunks that were read and written."""

    def __init__(self, store: S3Store, access: Access, *, read_only: bool = False) -> None:
        super().__init__(store, read_only=read_only)
        self._access = access

    def with_read_only(self, read_only: bool = False) -> "ArrayStore":
        return ArrayStore(self.store, self._access, read_only=read_only)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the content of a chunk or of metadata; None if it does not exist."""
        with as_file_errors(self._where(key)):
            found = await super().get(key, prototype, byte_range)
        if found is not None and byte_range is None:
            self._access.note_read(key, memoryview(found.as_buffer_like()))
        return found

    async def set(self, key: str, value: Buffer) -> None:
        """Replace a chunk or metadata atomically."""
        await asyncio.to_thread(self._access.check)
        content = value.as_buffer_like()
        with as_file_errors(self._where(key)):
            await obstore.put_async(self.store, key, content, chunk_size=MAX_REQUEST_BYTES)
        self._access.note_written(key, memoryview(content))

    def _where(self, key: str) -> str:
        return "/".join(filter(None, (f"s3://{self.store.config['bucket']}", self.store.prefix, key)))
