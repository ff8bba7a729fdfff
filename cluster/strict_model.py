"""Define the base class of all models that are read from TOML files: configs and cluster profiles."""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, model_validator


class StrictModel(BaseModel):
    """Strict and immutable model: an unknown key, or a string instead of a number, is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: object) -> object:
        if isinstance(data, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in data:
                if key not in known:
                    raise ValueError(unknown_key(key, known))
        return data


def unknown_key(key: object, known: list[str]) -> str:
    """Return the error message for an unknown key, with the most similar known key.

    Examples
    --------
    >>> unknown_key("quue", ["jobs", "queue"])
    "unknown key 'quue'; did you mean 'queue'? Allowed: jobs, queue"
    """
    nearest = nearest_name(str(key), known)
    hint = "." if nearest is None else f"; did you mean {nearest!r}?"
    return f"unknown key {key!r}{hint} Allowed: {', '.join(known)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of an error message: the known name that was probably meant, if one is similar.

    Examples
    --------
    >>> did_you_mean("slum", ["local", "slurm"])
    " Did you mean 'slurm'?"
    >>> did_you_mean("mine", ["local", "slurm"])
    ''
    """
    nearest = nearest_name(name, known)
    return "" if nearest is None else f" Did you mean {nearest!r}?"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None; case and accents are ignored.

    If no name is similar, the only known name that begins with the given one is returned.

    Examples
    --------
    >>> nearest_name("etat", ["âge", "État"]), nearest_name("Date", ["date of birth", "sex"])
    ('État', 'date of birth')
    """
    folded: dict[str, str] = {}
    for one in known:
        folded.setdefault(_folded(one), one)
    wanted = _folded(name)
    if nearest := get_close_matches(wanted, folded, n=1):
        return folded[nearest[0]]
    longer = [one for one in folded if wanted and one.startswith(wanted)]
    return folded[longer[0]] if len(longer) == 1 else None


def _folded(name: str) -> str:
    """Return a name in lower case and without accents."""
    letters = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()
