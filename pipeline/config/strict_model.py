"""What all parts of a config share: closed tables, names, and messages for what is written twice."""

from collections import Counter
from difflib import get_close_matches
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

# Names become parts of paths and of task names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]


class Model(BaseModel):
    """Strict, closed and unchangeable: a misspelt key or a text for a number is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: object) -> object:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in data if isinstance(data, dict) else ():
            if key not in known:
                nearest = get_close_matches(str(key), known, n=1)
                hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
                raise ValueError(f"unknown key {key!r}{hint} Allowed: {', '.join(known)}")
        return data


def distinct(names: list[str]) -> list[str]:
    """The names themselves; refuses one that is there twice."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(f"names {repeated[0]!r} twice")
    return names
