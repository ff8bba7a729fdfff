"""Convert values that are given in Python, such as numpy arrays, to those that a TOML file can have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

EXACT_KEYS = ("columns", "min_df")
"""Keys whose floats are not converted: in `min_df`, 1.0 is a fraction; in `columns`, it is not a column number."""


def toml_values(value: Any, exact: bool = False) -> Any:
    """Return a copy of a value with the types of TOML; other types, which validation rejects, are returned unchanged.

    Numbers of numpy become numbers. Arrays, columns of pandas, tuples and ranges become lists, and paths become text.
    Floats that are integers become int, except under `EXACT_KEYS`; fields of type float convert them back.

    Parameters
    ----------
    value
        The value of a key, or a dict of values.
    exact
        Whether floats are not converted.

    >>> toml_values({"gamma": np.array([0.5, 2.0]), "path": Path("a.csv"), "min_df": np.float64(1)})
    {'gamma': [0.5, 2], 'path': 'a.csv', 'min_df': 1.0}
    """
    if isinstance(value, Mapping):
        return {key: toml_values(inner, exact or key in EXACT_KEYS) for key, inner in value.items()}
    if hasattr(value, "__array__"):  # also columns of pandas, which is slow to import
        return toml_values(np.asarray(value).tolist(), exact)
    if isinstance(value, list | tuple | range):
        return [toml_values(inner, exact) for inner in value]
    if isinstance(value, Path):
        return str(value)
    return int(value) if isinstance(value, float) and value.is_integer() and not exact else value
