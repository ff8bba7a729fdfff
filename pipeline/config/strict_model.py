"""What all parts of a config share: closed tables, names, and messages for what is written twice."""

from collections import Counter
from typing import Annotated

from pydantic import Field

from kernel_pipeline.cluster.strict_model import StrictModel

# Names become parts of paths and of task names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class Model(StrictModel):
    """A table of a config."""


def distinct(names: list[str]) -> list[str]:
    """The names themselves; refuses one that is there twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"names {repeated[0]!r} twice")
    return names
