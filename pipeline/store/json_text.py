"""Parse and format JSON. JSON from a run directory is untrusted, so its number of values is checked before parsing."""

import json
from typing import Any

MAX_VALUES = 4_000_000
"""Maximum number of values in one JSON text. Even a short value takes about 100 bytes of memory."""


def parse_json(content: bytes) -> Any:
    """Parse a JSON text.

    Raises
    ------
    ValueError
        If it is not JSON, is nested too deeply, or has too many values or too long a number.
    """
    if sum(map(content.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")
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
