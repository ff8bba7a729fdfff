"""Addresses in object stores: s3://bucket/prefix."""

import re
from dataclasses import dataclass

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


PART = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._=+-]+")


S3 = "s3"


@dataclass(frozen=True)
class S3Address:
    """A prefix of a bucket."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"{S3}://{self.bucket}/{self.prefix}".rstrip("/")


def parse_s3(text: str) -> S3Address:
    """Read s3://bucket/prefix, or refuse it with a `ValueError`. One that may hold a secret is not repeated."""
    scheme = SCHEME.match(text)
    if scheme is None or scheme[1] != S3:
        got = f"one that begins with {scheme[0]}" if scheme else "one without a scheme"
        raise ValueError(f"must be s3://bucket/prefix; got {got}")
    rest = text[scheme.end() :]
    if "@" in rest:
        raise ValueError(
            "must not hold user info (the part before '@'): write s3://bucket/prefix, and give credentials by the "
            "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_PROFILE) or in ~/.aws"
        )
    if "?" in rest or "#" in rest:
        raise ValueError("must not hold a query (the part behind '?' or '#'): write s3://bucket/prefix")
    bucket, _, prefix = rest.rstrip("/").partition("/")
    if not BUCKET.fullmatch(bucket):
        raise ValueError(
            f"must name a bucket, 3 to 63 lower-case letters, digits, dots and hyphens; got {bucket!r} in {text!r}"
        )
    if prefix and not all(PART.fullmatch(part) for part in prefix.split("/")):
        raise ValueError(
            f"must have a prefix of letters, digits and . _ = + - only, parted by single slashes; got {text!r}"
        )
    return S3Address(bucket, prefix)
