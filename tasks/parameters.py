"""Declare the parameters of registered dataclasses, such as kernel families: descriptions, bounds and errors.

Extensions declare their parameters with `parameter`, and report values that these declarations cannot exclude with
`ParameterError`. The schema of configs and the error messages are derived from these declarations.
"""

from dataclasses import MISSING, field
from typing import Any


def parameter(
    description: str,
    *,
    gt: float | None = None,
    ge: float | None = None,
    le: float | None = None,
    default: Any = MISSING,
) -> Any:
    """Declare a field of a dataclass as a parameter that users set in a config.

    For a field of type `tuple[T, ...]`, a config writes one value or a list of values.

    Parameters
    ----------
    description
        Short description for the schema of configs.
    gt, ge, le
        Bounds of numbers: greater than, greater than or equal to, less than or equal to; for a tuple, of each item.
    default
        Value if the config does not set the parameter. Without a default, the parameter is required.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Polynomial:
    ...     degree: int = parameter("largest degree", ge=1, default=2)
    >>> Polynomial().degree
    2
    """
    return field(default=default, metadata={"description": description, "gt": gt, "ge": ge, "le": le})


class ParameterError(ValueError):
    """A value is invalid, alone or in combination with other parameters; raised by `__post_init__` of a dataclass.

    Parameters
    ----------
    name
        Name of the parameter, which precedes the message.
    message
        What is wrong and what is allowed.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name = name
        self.message = message

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"
