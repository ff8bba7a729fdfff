"""Define the base class and the field types that all parts of a config share."""

from collections import Counter
from typing import Annotated

from pydantic import Field

from kernel_pipeline.cluster.strict_model import StrictModel

# Names become parts of file paths and of task names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


SAMPLE_WEIGHTS = ("weights", "weight", "sample_weight", "sample_weights")
"""Keys with which users may try to set sample weights, which are not supported."""

__all__ = ["Name", "StrictModel", "refuse_sample_weights", "require_distinct"]


def require_distinct(names: list[str]) -> list[str]:
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


def refuse_sample_weights(data: object) -> object:
    """Reject keys that would set sample weights; return the values of a table unchanged.

    Raises
    ------
    ValueError
        If they contain a key that would set sample weights.
    """
    if isinstance(data, dict) and (keys := [key for key in SAMPLE_WEIGHTS if key in data]):
        raise ValueError(
            f"{keys[0]!r}: sample weights are not supported; remove this key. If a column of the table contains the "
            "weights, drop it: drop = ['COLUMN'] in [[dataset]]"
        )
    return data
