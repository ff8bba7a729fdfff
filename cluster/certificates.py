"""Create the TLS certificates of a run; their files are readable only by the owner, and removed when the run ends."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.cluster.errors import ProfileError

if TYPE_CHECKING:
    from distributed.security import Security

CERTIFICATES = ".certificates-"
"""Prefix of the names of directories with certificates."""
ROLES = ("client", "scheduler", "worker")
FILES = ("ca_file", "cert", "key")
MAX_VALIDITY = timedelta(days=365)
MAX_CLOCK_DIFFERENCE = timedelta(hours=1)
"""Maximum time by which the clock of a node may lag behind the clock of the driver's host."""


@contextmanager
def fresh_certificates(folder: Path) -> Iterator["Security"]:
    """Create certificates in a new subdirectory, which is removed when the block ends.

    Parameters
    ----------
    folder
        A directory that workers can read. Certificates that a killed run has left in it are removed.
    """
    for leftover in folder.glob(f"{CERTIFICATES}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    made = new_certificates()
    with tempfile.TemporaryDirectory(prefix=CERTIFICATES, dir=folder, ignore_cleanup_errors=True) as own:
        directory = Path(own).absolute()
        for name in FILES:
            descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(made[name])
        yield security_of(directory)


def new_certificates() -> dict[str, str]:
    """Return a certificate, its key and the certificate of its authority, as text; all roles share them.

    The certificate is self-signed, so that only processes that have this key can connect to each other. The key is an
    elliptic-curve key, because creating an RSA key takes a tenth of a second.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError:
        raise ProfileError(
            "encryption needs one more package: pip install cryptography, or add --insecure in a network that you trust"
        ) from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kernel-pipeline")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - MAX_CLOCK_DIFFERENCE)
        .not_valid_after(now + MAX_VALIDITY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(serialization.Encoding.PEM).decode()
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {"ca_file": text, "cert": text, "key": key.private_bytes(*encoding).decode()}


def security_in_memory() -> "Security":
    """Return security settings with new certificates, which this process passes directly to those that it starts."""
    return _security(new_certificates())


def security_of(folder: Path) -> "Security":
    """Return the security settings of the certificates in a directory."""
    return _security({name: str(folder / name) for name in FILES})


def _security(values: dict[str, str]) -> "Security":
    """Return security settings with these certificates, each given as text or as the path of a file."""
    from distributed.security import Security

    own = {f"tls_{role}_{name}": values[name] for role in ROLES for name in ("cert", "key")}
    return Security(tls_ca_file=values["ca_file"], require_encryption=True, **own)
