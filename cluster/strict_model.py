"""The base class of everything that is read from a TOML file: configs and cluster profiles."""

from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, model_validator


class StrictModel(BaseModel):
    """Model that is strict, closed and immutable: an unknown key, or a string in place of a number, is an error."""

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
    """Return the error message for a key that is not known, with the key that was probably meant.

    Examples
    --------
    >>> unknown_key("quue", ["jobs", "queue"])
    "unknown key 'quue'; did you mean 'queue'? Allowed: jobs, queue"
    """
    nearest = get_close_matches(str(key), known, n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
    return f"unknown key {key!r}{hint} Allowed: {', '.join(known)}"
