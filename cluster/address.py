"""A scheduler that is already there: by its address, or by the file that it wrote its address to."""

import ipaddress
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError, ProfileError
from kernel_pipeline.cluster.profile import Profile

if TYPE_CHECKING:
    from distributed import Client
    from distributed.security import Security

SECONDS_TO_CONNECT = 10
SECONDS_TO_CLOSE = 3


def worker_limits(profile: Profile) -> tuple[int, int | None]:
    """As the scheduler has them now: each thread of a worker runs a task, in its share of the memory."""
    with _connect(profile) as client:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]]
    return max(1, sum(worker["nthreads"] for worker in workers)), min(limits) if limits else None


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Connect; workers that come later are used too, and none is stopped at the end."""
    with _connect(profile) as client:
        count = max(1, len(client.nthreads()))
        yield Cluster(client=client, workers=count, dashboard=client.dashboard_link, stays=True)


def scheduler_address(profile: Profile) -> str:
    """The address itself, or what a scheduler file says; refuses what would send work to others in the clear."""
    address = profile.address or ""
    if "://" not in address:
        try:
            address = str(json.loads(Path(address).read_text("utf-8"))["address"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ProfileError(f"{profile.address} is not a scheduler file: {error}") from None
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("tcp", "tls") and bool(parts.hostname and parts.port)
    except ValueError:
        is_one = False
    if not is_one:
        raise ProfileError(
            f"the address {address!r} is not one of a scheduler; write tls://HOST:PORT or tcp://HOST:PORT"
        )
    if parts.scheme == "tcp" and not is_loopback(parts.hostname or "") and not profile.insecure:
        raise ProfileError(
            f"{address} is another host, and tcp:// is neither encrypted nor authenticated: whoever is between can "
            "run code as you. Give a scheduler with TLS (tls://...), or add --insecure in a network that you trust"
        )
    return address


@contextmanager
def _connect(profile: Profile) -> Iterator["Client"]:
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    address = scheduler_address(profile)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # of workers, which are refused for it later
            client = Client(address, security=_security(profile, address), timeout=SECONDS_TO_CONNECT)
    except (OSError, TimeoutError, ValueError) as error:
        raise ClusterError(
            f"cannot connect to the scheduler {address}: {error}. Is it there, and is it yours?"
        ) from None
    try:
        yield client
    finally:
        with suppress(TimeoutError):  # a frozen scheduler does not say goodbye
            client.close(timeout=SECONDS_TO_CLOSE)


def _security(profile: Profile, address: str) -> "Security | None":
    from distributed.security import Security

    if not address.startswith("tls://"):
        return None
    if profile.tls is None:
        found = Security()
        if not all(found.get_tls_config_for_role("client")[name] for name in ("ca_file", "cert", "key")):
            raise ProfileError(
                f"{address} needs certificates: give [tls] ca, cert and key in a profile, or Dask's own settings "
                "(DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..__CLIENT__CERT, ..__CLIENT__KEY)"
            )
        return found
    for path in (profile.tls.ca, profile.tls.cert, profile.tls.key):
        if not Path(path).is_file():
            raise ProfileError(f"tls: there is no file {path}")
    return Security(
        tls_ca_file=profile.tls.ca,
        tls_client_cert=profile.tls.cert,
        tls_client_key=profile.tls.key,
        require_encryption=True,
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this one, by a name or number that says so."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
