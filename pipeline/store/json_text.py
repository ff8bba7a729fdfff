"""JSON from a run directory, which may be forged: bounded before memory is taken, with errors of one kind."""

import json
from typing import Any

MAX_PARTS = 4_000_000
"""Values in one text. Each takes some 100 bytes, however short its text is."""


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
