"""Connections to an object store, and clear messages for its errors.

Credentials come from where boto3 finds them and go to the store alone: nothing here keeps, shows or sends them.
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
# A server that restarts or is overloaded is waited for; below five minutes, so that signatures stay valid.
LONG_RETRY: "RetryConfig" = {
    "max_retries": 100,
    "retry_timeout": timedelta(minutes=3),
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=5), "base": 2},
}
# Before anything was begun nobody wants to wait.
SHORT_RETRY: "RetryConfig" = {"max_retries": 3, "retry_timeout": timedelta(seconds=10)}
# Those of roles end; boto3 renews them when less than a quarter of an hour is left.
CREDENTIALS_FOR = timedelta(minutes=10)
# Larger chunks are sent in parts; smaller ones in one request, of which a crash leaves nothing behind.
BYTES_IN_ONE_REQUEST = 32 << 20
NO_CREDENTIALS = (
    "no credentials for the object store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or write "
    "~/.aws/credentials"
)


@dataclass(frozen=True)
class Connection:
    """Where the object store is and who we are there, as the environment says."""

    endpoint: str
    region: str
    credentials: Boto3CredentialProvider

    @classmethod
    def from_environment(cls) -> "Connection":
        """By the rules of boto3; AWS_REGION counts too, as it does for most programs."""
        try:
            session = boto3.Session(region_name=os.environ.get("AWS_REGION"))
            if session.get_credentials() is None:
                raise RefusedError(NO_CREDENTIALS)
            found = session.client("s3").meta
            return cls(found.endpoint_url, found.region_name, Boto3CredentialProvider(session, ttl=CREDENTIALS_FOR))
        except BotoCoreError as error:
            raise RefusedError(f"the settings of the object store cannot be used: {error}") from None
        except ValueError:  # whose message may repeat what the address holds
            raise RefusedError("AWS_ENDPOINT_URL is not an address such as https://host:port; set it right") from None

    def open(self, bucket: str, prefix: str, retries: "RetryConfig" = LONG_RETRY) -> S3Store:
        """A prefix of a bucket; nothing is asked of it yet."""
        options: ClientConfig = {
            "allow_http": self.endpoint.startswith("http://"),  # said by whoever set the endpoint
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
def in_words(where: str) -> Iterator[None]:
    """Turn errors of the object store into those of files, short and without what the request held."""
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), where) from None
    except (AlreadyExistsError, PreconditionError):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), where) from None
    except BaseError as error:
        raise _unreachable(error, where) from None


def status_of(error: BaseError) -> int:
    """The number with which the object store answered; 0 if it did not."""
    found = STATUS.search(str(error))
    return int(found[1]) if found else 0


def _unreachable(error: BaseError, where: str) -> UnreachableError:
    status, code = status_of(error), CODE.search(str(error))
    reason = f" ({code[1]})" if code else ""
    if status in (401, 403) or isinstance(error, PermissionDeniedError | UnauthenticatedError):
        words = f"the object store refuses access{reason}; check the credentials and what they allow"
        return UnreachableError(errno.EACCES, words, where)
    if code and code[1] == "NoSuchBucket":
        return UnreachableError(errno.ENOENT, "there is no such bucket; make it, or give another one", where)
    answer = f"the object store answers {status}{reason}" if status else "the object store does not answer"
    return UnreachableError(errno.EIO, answer, where)


class ArrayStore(ObjectStore[S3Store]):
    """What zarr reads and writes chunks by."""

    def __init__(self, store: S3Store, access: Access, *, read_only: bool = False) -> None:
        super().__init__(store, read_only=read_only)
        self._access = access

    def with_read_only(self, read_only: bool = False) -> "ArrayStore":
        return ArrayStore(self.store, self._access, read_only=read_only)

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """A chunk or a description; None if there is none."""
        with in_words(self._where(key)):
            found = await super().get(key, prototype, byte_range)
        if found is not None and byte_range is None:
            self._access.note_read(key, memoryview(found.as_buffer_like()))
        return found

    async def set(self, key: str, value: Buffer) -> None:
        """Replace a chunk or a description, whole."""
        await asyncio.to_thread(self._access.check)
        content = value.as_buffer_like()
        with in_words(self._where(key)):
            await obstore.put_async(self.store, key, content, chunk_size=BYTES_IN_ONE_REQUEST)
        self._access.note_written(key, memoryview(content))

    def _where(self, key: str) -> str:
        return "/".join(filter(None, (f"s3://{self.store.config['bucket']}", self.store.prefix, key)))
