"""Describe validation errors of configs and cluster profiles in terms of TOML."""

from typing import Any

from pydantic import ValidationError

# Replacements for messages of pydantic that are about Python rather than about TOML.
MESSAGES = {
    "missing": "is missing",
    "union_tag_not_found": "requires the key {discriminator}",
    "list_type": "must be a list in brackets; a list of tables is written as [[name]]",
    "tuple_type": "must be a list of two numbers",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} item(s)",
    "dict_type": "must be a table with entries word = number",
    "model_type": "must be a table",
    "string_too_short": "must not be empty",
    "extra_forbidden": "is an unknown key",
    "string_pattern_mismatch": "may contain letters, digits and . _ - only, and must begin with a letter or a digit",
}


def describe_errors(error: ValidationError, values: dict[str, Any]) -> list[str]:
    """Describe validation errors, one line per field: the field, the allowed values, the given value."""
    problems: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    fields = [_field(item["loc"], values, required=item["type"] == "missing") for item in error.errors()]
    for field, item in zip(fields, error.errors(), strict=True):
        inside = [other for other in fields if other.startswith(field)]
        if item["type"] == "literal_error" and isinstance(item["input"], dict) and len(inside) > 1:
            continue  # a name or a table is allowed here; for a table, only its own errors are informative
        message = MESSAGES.get(item["type"], "").format(**item.get("ctx", {}))
        message = message or item["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        if item["type"] == "union_tag_invalid":
            field += f".{item['ctx']['discriminator']}".replace("'", "")
            message = f"must be one of {item['ctx']['expected_tags']}; got {item['ctx']['tag']!r}"
        elif item["type"] not in ("missing", "value_error") and not isinstance(item["input"], dict):
            given[field] = f"; got {item['input']!r}"
        problems.setdefault(field, []).append(message)
    return [
        (f"{field}: " if field else "")
        + ", or ".join(dict.fromkeys(messages)).replace(", or must be", ", or")
        + given.get(field, "")
        for field, messages in problems.items()
    ]


def _field(location: tuple[int | str, ...], values: dict[str, Any], required: bool) -> str:
    """Return the path of a field in a config; pydantic's location also contains names of types, which are omitted."""
    place: Any = values
    field = ""
    for number, part in enumerate(location):
        if isinstance(part, int):
            place = place[part] if isinstance(place, list) and part < len(place) else None
            name = place.get("name") if isinstance(place, dict) else None
            field += f"[{part}]" + (f" ({name})" if name else "")
        elif (isinstance(place, dict) and part in place) or (required and number == len(location) - 1):
            place = place.get(part) if isinstance(place, dict) else None
            field += f".{part}" if field else str(part)
    return field
