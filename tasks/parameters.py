"""Parameters of registered dataclasses, such as kernel families: their descriptions, bounds and errors.

An extension describes its parameters with these two names alone; the config derives its schema and its error messages
from them.
"""

from dataclasses import MISSING, field
from typing import Any


def parameter(description: str, *, ge: float | None = None, le: float | None = None, default: Any = MISSING) -> Any:
    """Declare a field of a dataclass as a parameter that users set in a config.

    Parameters
    ----------
    description
        A few words for the schema of configs.
    ge, le
        The smallest and the largest value; of a tuple, those of each of its items.
    default
        The value where the config does not set the parameter. Without it, the parameter is required.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Polynomial:
    ...     degree: int = parameter("largest degree", ge=1, default=2)
    >>> Polynomial().degree
    2
    """
    return field(default=default, metadata={"description": description, "ge": ge, "le": le})


class ParameterError(ValueError):
    """A value that does not go with the other parameters, raised by `__post_init__` of a dataclass.

    Parameters
    ----------
    name
        The name of the parameter, which messages show in front of the text.
    message
        What is wrong and what is allowed.
    """

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)
        self.name = name
        self.message = message

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"
