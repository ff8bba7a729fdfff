"""Read the members of an untrusted JSON object by type; a member of another type is an error with a clear message."""

import math
from collections.abc import Mapping
from typing import Any

MAX_INTEGER = 2**53
"""Integers up to this size are exact as float64, and fit in any column of a table."""


class JsonObject:
    """A JSON object whose members are read by type.

    Parameters
    ----------
    value
        The parsed JSON value.
    name
        Name of the object in error messages.

    Raises
    ------
    ValueError
        If the value is not an object. All methods raise it for a member that is missing or has another type.

    Examples
    --------
    >>> found = JsonObject({"count": 3, "errors": [0.5, None]}, "the result")
    >>> found.integer("count"), found.optional_numbers("errors")
    (3, [0.5, None])
    >>> found.text("status")
    Traceback (most recent call last):
        ...
    ValueError: the result: 'status' is missing; it must be a string
    """

    def __init__(self, value: object, name: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} is {_shown(value)}; it must be an object")
        self._members: Mapping[str, Any] = value
        self._name = name

    @property
    def members(self) -> Mapping[str, Any]:
        """The members as they were parsed."""
        return self._members

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def has(self, key: str) -> bool:
        """Return whether a member exists and is not null."""
        return self._members.get(key) is not None

    def names(self) -> list[str]:
        """Return the names of all members."""
        return [str(key) for key in self._members]

    def error(self, key: str, expected: str) -> ValueError:
        """Return the error for a member that is missing or has an unexpected type."""
        found = f"is {_shown(self._members[key])}" if key in self._members else "is missing"
        return ValueError(f"{self._name}: {key!r} {found}; it must be {expected}")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string, or the default, if one is given, for a missing member."""
        value = self._members.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, "a string")
        return value

    def flag(self, key: str, default: bool | None = None) -> bool:
        """Return a boolean, or the default, if one is given, for a missing member."""
        value = self._members.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def integer(self, key: str, below: int = MAX_INTEGER) -> int:
        """Return an integer from 0 up to, but not including, `below`."""
        value = self._members.get(key)
        if type(value) is not int or not 0 <= value < below:
            raise self.error(key, f"an integer from 0 to {below - 1}")
        return value

    def number(self, key: str) -> float:
        """Return a finite number."""
        value = self.optional_number(key)
        if value is None:
            raise self.error(key, "a number")
        return value

    def optional_number(self, key: str) -> float | None:
        """Return a finite number, or None for null or a missing member."""
        value = self._members.get(key)
        if _is_number_or_null(value):
            return None if value is None else float(value)
        raise self.error(key, "a number or null")

    def numbers(self, key: str) -> list[float]:
        """Return a list of finite numbers."""
        found = self.optional_numbers(key)
        if any(value is None for value in found):
            raise self.error(key, "a list of numbers")
        return [value for value in found if value is not None]

    def optional_numbers(self, key: str) -> list[float | None]:
        """Return a list of finite numbers and nulls."""
        values = self.items(key)
        if not all(map(_is_number_or_null, values)):
            raise self.error(key, "a list of numbers and nulls")
        return [None if value is None else float(value) for value in values]

    def number_tuples(self, key: str, max_length: int) -> list[tuple[float, ...]]:
        """Return a list of lists of up to `max_length` finite numbers, as tuples."""
        values = self.items(key)
        if not all(isinstance(value, list) and len(value) <= max_length for value in values) or not all(
            number is not None and _is_number_or_null(number) for value in values for number in value
        ):
            raise self.error(key, f"a list of lists of up to {max_length} numbers")
        return [tuple(map(float, value)) for value in values]

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self.items(key)
        if not all(isinstance(value, str) for value in values):
            raise self.error(key, "a list of strings")
        return list(values)

    def items(self, key: str) -> list[Any]:
        """Return a list of any values."""
        value = self._members.get(key)
        if not isinstance(value, list):
            raise self.error(key, "a list")
        return value

    def object(self, key: str) -> "JsonObject":
        """Return a nested object."""
        return JsonObject(self._members.get(key), f"{self._name}: {key!r}")

    def optional_object(self, key: str) -> "JsonObject | None":
        """Return a nested object, or None for null or a missing member."""
        return self.object(key) if self.has(key) else None


def _is_number_or_null(value: object) -> bool:
    if type(value) is float:  # checked first for speed: the results of a run contain very many of them
        return math.isfinite(value)
    return value is None or (type(value) is int and abs(value) <= MAX_INTEGER)


def _shown(value: object) -> str:
    """Return the beginning of a value, for an error message."""
    text = repr(value) if isinstance(value, str | int | float) or value is None else f"a {type(value).__name__}"
    return text if len(text) <= 40 else f"{text[:40]}..."
