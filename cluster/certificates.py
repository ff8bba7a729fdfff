"""Certificates of one run: made anew, in files that only we can read, and gone when it ends."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cluster.errors import ProfileError

if TYPE_CHECKING:
    from distributed.security import Security

CERTIFICATES = ".certificates-"
"""How the names of their folders begin."""
ROLES = ("client", "scheduler", "worker")
FILES = ("ca_file", "cert", "key")


@contextmanager
def fresh_certificates(folder: Path) -> Iterator["Security"]:
    """Make certificates in a new folder inside this one, which workers see too; what a killed run left is removed."""
    for left in folder.glob(f"{CERTIFICATES}*"):
        shutil.rmtree(left, ignore_errors=True)
    made = new_certificates()
    with tempfile.TemporaryDirectory(prefix=CERTIFICATES, dir=folder, ignore_cleanup_errors=True) as own:
        place = Path(own).absolute()
        for name in FILES:
            descriptor = os.open(place / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(made[name])
        yield security_of(place)


def new_certificates() -> dict[str, str]:
    """A certificate, its key and the authority that signed it, as text; every role has the same."""
    from distributed.security import Security

    try:
        made = Security.temporary().get_tls_config_for_role("worker")
    except ImportError:
        raise ProfileError(
            "encryption needs one more package: pip install cryptography, or give --insecure in a network that you "
            "trust"
        ) from None
    return {name: made[name] for name in FILES}


def security_of(folder: Path) -> "Security":
    """What the certificates in a folder secure: every role has the same."""
    from distributed.security import Security

    files = {f"tls_{role}_{name}": str(folder / name) for role in ROLES for name in ("cert", "key")}
    return Security(tls_ca_file=str(folder / "ca_file"), require_encryption=True, **files)
