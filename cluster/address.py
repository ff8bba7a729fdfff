"""Use a scheduler that is already running, given by its address or by its scheduler file."""

import ipaddress
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field

from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.client import memory_per_task, use_client
from kernel_pipeline.cluster.errors import ClusterError, ProfileError
from kernel_pipeline.cluster.profile import Profile, ProfileModel

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

CONNECT_TIMEOUT_S = 10
CLOSE_TIMEOUT_S = 3


class Tls(ProfileModel):
    """Certificate files for a scheduler that requires TLS; without them the settings of Dask apply."""

    ca: str = Field(description="certificate of the authority that signed the scheduler's certificate")
    cert: str = Field(description="your certificate")
    key: str = Field(description="the key of your certificate")


class AddressProfile(Profile):
    """Profile of a running scheduler, with the certificates to connect to it."""

    backend: str = Field("address", description="the kind of cluster")
    tls: Tls | None = Field(None)


@register("address")
class Address(Backend[AddressProfile]):
    """A scheduler that is already running.

    Only one connection is made: the one that reads the limits of the workers is kept for the run.
    """

    KEYS = frozenset({"address", "insecure"})
    REQUIRED_KEYS = frozenset({"address"})
    PROFILE = AddressProfile

    def __init__(self, profile: AddressProfile) -> None:
        super().__init__(profile)
        self._client: Client | None = None
        self._limits: tuple[int, int | None] | None = None

    def worker_limits(self) -> tuple[int, int | None]:
        """Return the limits of the workers that are connected at the first call."""
        if self._limits is None:
            self._limits = memory_per_task(self._connected())
        return self._limits

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Connect; workers that join later are used too, and none is stopped at the end."""
        client, self._client = self._connected(), None
        try:
            with use_client(client) as opened:
                yield opened
        finally:
            _close(client)

    def close(self) -> None:
        """Close the connection, if no run has used it."""
        if self._client is not None:
            _close(self._client)
            self._client = None

    def _connected(self) -> "Client":
        """Return the open connection, or a new one if there is none or it was lost."""
        if self._client is not None and self._client.status != "running":
            self.close()
        if self._client is None:
            self._client = _connect(self.profile)
        return self._client


def scheduler_address(profile: AddressProfile) -> str:
    """Return the address of the scheduler, which is read from the scheduler file if one is given.

    Raises
    ------
    ProfileError
        If there is no valid address, or work would be sent to another host without encryption.
    """
    address = profile.address or ""
    if "://" not in address:
        try:
            address = str(json.loads(Path(address).read_text("utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProfileError(
                f"{profile.address} is not a scheduler file ({type(error).__name__}: {error}). Give the file that "
                "`dask scheduler --scheduler-file FILE` writes, tls://HOST:PORT or tcp://HOST:PORT"
            ) from None
    try:
        parts = urlsplit(address)
        is_valid = parts.scheme in ("tcp", "tls") and bool(parts.hostname and parts.port)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ProfileError(
            f"{address!r} is not the address of a scheduler; write it as tls://HOST:PORT or tcp://HOST:PORT"
        )
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or "") and not profile.insecure:
        raise ProfileError(
            f"{address} is on another host, and tcp:// is neither encrypted nor authenticated: anyone between the "
            "hosts can run code as you. Use a scheduler with TLS (tls://...), or add --insecure in a network that you "
            "trust"
        )
    return address


def _connect(profile: AddressProfile) -> "Client":
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    address = scheduler_address(profile)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # `check_versions` reports differences
            return Client(address, security=_security(profile, address), timeout=CONNECT_TIMEOUT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"cannot connect to the scheduler {address}: {error}. Check that it is running and its address is correct"
        ) from None


def _close(client: "Client") -> None:
    with suppress(TimeoutError):  # a frozen scheduler does not answer
        client.close(timeout=CLOSE_TIMEOUT_S)


def _security(profile: AddressProfile, address: str) -> "Security | None":
    from distributed.security import Security

    if not address.startswith("tls://"):
        return None
    if profile.tls is None:
        found = Security()
        if not all(found.get_tls_config_for_role("client")[name] for name in ("ca_file", "cert", "key")):
            raise ProfileError(
                f"{address} needs certificates: give [tls] ca, cert and key in a profile, or use the settings of Dask "
                "(DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..__CLIENT__CERT, ..__CLIENT__KEY)"
            )
        return found
    for path in (profile.tls.ca, profile.tls.cert, profile.tls.key):
        if not Path(path).is_file():
            raise ProfileError(f"tls: there is no file {path}. Give the paths of the files ca, cert and key in [tls]")
    return Security(
        tls_ca_file=profile.tls.ca,
        tls_client_cert=profile.tls.cert,
        tls_client_key=profile.tls.key,
        require_encryption=True,
    )


def is_loopback(host: str) -> bool:
    """Return whether a host name or IP address is a loopback address of this host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
