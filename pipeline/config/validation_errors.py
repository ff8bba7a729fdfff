"""Describe validation errors of configs and cluster profiles in terms of TOML."""

import re
from typing import Any

from pydantic import ValidationError

from kernel_pipeline.cluster.strict_model import nearest_name
from kernel_pipeline.config.families import example_table

# Replacements for messages of pydantic that are about Python rather than about TOML.
MESSAGES = {
    "missing": "is missing",
    "union_tag_not_found": "requires the key {discriminator}",
    "tuple_type": "must be a list of two numbers",
    "too_short": "must have at least {min_length} item(s)",
    "too_long": "must have at most {max_length} item(s)",
    "dict_type": "must be a table with entries word = number",
    "model_type": "must be a table",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} character(s)",
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
        if item["type"] == "literal_error" and isinstance(item["input"], dict | list) and len(inside) > 1:
            continue  # only the errors inside the table or list are informative, although a name is allowed too
        if item["type"] == "too_short" and len(item["input"]) >= item["ctx"]["min_length"]:
            continue  # items with errors, which have their own lines, are not counted
        message = MESSAGES.get(item["type"], "").format(**item.get("ctx", {}))
        if item["type"] in ("list_type", "tuple_type") and fields.count(field) > 1:
            message = "must be a list"  # several types are allowed, so the type of the items is not known
        elif item["type"] == "list_type":
            message = _list_message(str(item["loc"][-1]), item["input"])
        elif item["type"] == "model_type" and item["loc"][-2:-1] == ("kernels",):
            message = f"must be a table; write {example_table(item['input'])}"
        message = message or item["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        if item["type"] == "union_tag_invalid":
            field += f".{item['ctx']['discriminator']}".replace("'", "")
            tag, known = str(item["ctx"]["tag"]), str(item["ctx"]["expected_tags"])
            message = f"must be one of {known}; got {tag!r}{_hint(tag, known)}"
        elif item["type"] == "literal_error" or (
            item["type"] not in ("missing", "value_error") and not isinstance(item["input"], dict)
        ):
            allowed = str(item.get("ctx", {}).get("expected", ""))
            given[field] = f"; got {item['input']!r}{_hint(item['input'], allowed)}"
        problems.setdefault(field, []).append(message)
    return [
        (f"{field}: " if field else "")
        + ", or ".join(dict.fromkeys(messages)).replace(", or must be", ", or")
        + given.get(field, "")
        for field, messages in problems.items()
    ]


def _list_message(key: str, value: object) -> str:
    """Return the message about a value that is not a list: how the list is written.

    >>> _list_message("drop", "enrolled")
    "must be a list in brackets; write drop = ['enrolled']"
    >>> _list_message("kernels", "gaussian")
    'must be a list in brackets; write kernels = [{ family = "gaussian", gamma = "median" }]'
    """
    if key == "dataset":
        return "must be a list of tables; write [[dataset]] above the keys of each dataset"
    if key == "kernels":
        return f"must be a list in brackets; write kernels = [{example_table(value)}]"
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return f"must be a list in brackets; write {key} = [{value!r}]"
    return "must be a list in brackets"


def _hint(value: object, allowed: str) -> str:
    """Return a hint that names the allowed value that is most similar to a text; empty if there is none.

    >>> _hint("allign", "'unif', 'align' or 'alignf'")
    "; did you mean 'align'?"
    """
    nearest = nearest_name(value, re.findall(r"'([^']*)'", allowed)) if isinstance(value, str) else None
    return "" if nearest is None else f"; did you mean {nearest!r}?"


def _field(location: tuple[int | str, ...], values: dict[str, Any], required: bool) -> str:
    """Return the path of a field in a config; pydantic's location also contains names of types, which are omitted."""
    node: Any = values
    field = ""
    for number, part in enumerate(location):
        if isinstance(part, int):
            node = node[part] if isinstance(node, list) and part < len(node) else None
            name = node.get("name") if isinstance(node, dict) else None
            field += f"[{part}]" + (f" ({name})" if name else "")
        elif (isinstance(node, dict) and part in node) or (required and number == len(location) - 1):
            node = node.get(part) if isinstance(node, dict) else None
            field += f".{part}" if field else str(part)
    return field
