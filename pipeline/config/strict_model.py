"""Define the base class and the field types that all parts of a config share."""

from collections import Counter
from typing import Annotated

from pydantic import Field

from kernel_pipeline.cluster.strict_model import StrictModel

# Names become parts of file paths and of task names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


__all__ = ["Name", "StrictModel", "distinct"]


def distinct(names: list[str]) -> list[str]:
    """Return the names unchanged.

    Raises
    ------
    ValueError
        If a name occurs more than once.
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated[0]!r} is listed more than once")
    return names
