"""Parse untrusted JSON from a run directory: its size is limited before memory is allocated."""

import json
from typing import Any

MAX_PARTS = 4_000_000
"""Maximum number of values in one JSON text. Even a short value takes about 100 bytes of memory."""


def parse_json(content: bytes) -> Any:
    """Parse a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, or has too many values or too long a number.
    """
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_PARTS:
        raise ValueError(f"it has more than {MAX_PARTS:,} values")
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def dump_json(value: object) -> bytes:
    """Return a value as a JSON text.

    Raises
    ------
    ValueError
        If the value has a number that JSON cannot represent, such as NaN.
    """
    return json.dumps(value, allow_nan=False).encode()
