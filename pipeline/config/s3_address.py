"""Parse addresses in object stores: s3://bucket/prefix."""

import re
from dataclasses import dataclass

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._=+-]+")
S3 = "s3"


@dataclass(frozen=True)
class S3Address:
    """A prefix in a bucket."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{S3}://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def parent(self) -> "S3Address | None":
        """Address of the parent prefix; None for a whole bucket.

        >>> str(parse_s3("s3://bucket/runs/small").parent), parse_s3("s3://bucket").parent
        ('s3://bucket/runs', None)
        """
        return S3Address(self.bucket, self.prefix.rpartition("/")[0]) if self.prefix else None


def parse_s3(text: str) -> S3Address:
    """Parse s3://bucket/prefix.

    Raises
    ------
    ValueError
        If the address is not valid. The message does not contain an address that may include a secret.
    """
    scheme = SCHEME.match(text)
    if scheme is None or scheme[1] != S3:
        got = f"one that begins with {scheme[0]}" if scheme else "one without a scheme"
        raise ValueError(f"must be s3://bucket/prefix; got {got}")
    rest = text[scheme.end() :]
    if "@" in rest:
        raise ValueError(
            "must not contain user info (the part before '@'): write s3://bucket/prefix, and set credentials in the "
            "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE) or in ~/.aws"
        )
    if "?" in rest or "#" in rest:
        raise ValueError("must not contain a query (the part after '?' or '#'): write s3://bucket/prefix")
    bucket, _, prefix = rest.rstrip("/").partition("/")
    if not BUCKET.fullmatch(bucket):
        raise ValueError(
            f"must name a bucket: 3 to 63 lower-case letters, digits, dots and hyphens; got {bucket!r} in {text!r}"
        )
    if prefix and not all(PART.fullmatch(part) for part in prefix.split("/")):
        raise ValueError(
            f"must have a prefix of letters, digits and . _ = + - only, separated by single slashes; got {text!r}"
        )
    return S3Address(bucket, prefix)
