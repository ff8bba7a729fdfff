"""From a TOML file, or the name of a shipped config, and `--set` options to a `Config`, and back to TOML."""

import hashlib
import json
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.config import Config
from pipeline.errors import ConfigError


def shipped_configs() -> dict[str, str]:
    """The text of each shipped config, by name."""
    found = (entry for entry in files("configs").iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry.read_text("utf-8") for entry in sorted(found, key=lambda e: e.name)}


def read_config(name_or_path: str | None, settings: Sequence[str] = ()) -> tuple[Config, Path]:
    """Read, change by `key=value` settings and validate a config.

    Returns
    -------
    config, folder
        The folder is where relative paths of data files are looked up at last.
    """
    text, where, folder = _find(name_or_path or "default")
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}") from None
    for setting in settings:
        _apply(values, setting)
    return parse_config(values, where), folder


def parse_config(values: dict[str, Any], where: str) -> Config:
    """Validate the values of a config; `where` names their origin in messages."""
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        lines = [_sentence(item, values) for item in error.errors()]
        raise ConfigError(
            f"{where} is not a valid config:\n"
            + "\n".join(f"  {line}" for line in lines)
            + "\n`pipeline config schema` prints every key and what it allows."
        ) from None


def to_toml(config: Config) -> str:
    """The resolved config, every default filled in."""
    import tomli_w

    return tomli_w.dumps(_values(config))


def config_digest(config: Config) -> str:
    """A short digest of all that may change a result."""
    values = _values(config)
    del values["description"]
    canonical = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def differences(old: Config, new: Config) -> list[str]:
    """The fields in which two configs differ, a line each."""
    before, after = _flatten(_values(old)), _flatten(_values(new))
    return [
        f"{key}: {before.get(key, 'not set')} -> {after.get(key, 'not set')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and key != "description"
    ]


def _values(config: Config) -> dict[str, Any]:
    return config.model_dump(mode="json", by_alias=True, exclude_none=True)


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        items = [(f"{prefix}.{key}" if prefix else str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        items = [(f"{prefix}[{number}]", inner) for number, inner in enumerate(value)]
    else:
        return {prefix: value}
    return {key: leaf for name, inner in items for key, leaf in _flatten(inner, name).items()}


def _find(name_or_path: str) -> tuple[str, str, Path]:
    path = Path(name_or_path)
    if path.is_file():
        try:
            return path.read_text("utf-8"), str(path), path.parent
        except (UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"cannot read the config {path}: {error}") from None
    shipped = shipped_configs()
    if name_or_path in shipped:
        return shipped[name_or_path], f"shipped config {name_or_path!r}", Path.cwd()
    nearest = get_close_matches(path.stem, shipped, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    raise ConfigError(
        f"there is no config {name_or_path!r}: neither a file nor a shipped one ({', '.join(shipped)}).{hint}"
    )


def _apply(values: dict[str, Any], setting: str) -> None:
    """Change one value in place: `protocol.folds=3`, or `dataset.NAME.rows=100` for a dataset by name."""
    key, separator, text = setting.partition("=")
    if not separator or not key:
        raise ConfigError(f"--set {setting!r}: write key=value, such as --set protocol.folds=3")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # a bare word is a text
    place: Any = values
    *parents, last = key.strip().split(".")
    for parent in parents:
        if isinstance(place, list):
            named = [item for item in place if item.get("name") == parent]
            if not named:
                names = ", ".join(str(item.get("name")) for item in place)
                raise ConfigError(f"--set {setting!r}: there is no {parent!r}; there are: {names}")
            place = named[0]
        elif isinstance(place, dict):
            place = place.setdefault(parent, {})
    if not isinstance(place, dict):
        raise ConfigError(f"--set {setting!r}: {'.'.join(parents)} is not a table; name the item first")
    place[last] = value


def _sentence(error: Any, values: dict[str, Any]) -> str:
    """One line for one validation error: the field, the problem, the value."""
    place: Any = values
    field = ""
    for part in error["loc"]:
        if isinstance(part, int):
            place = place[part] if isinstance(place, list) and part < len(place) else None
            name = place.get("name") if isinstance(place, dict) else None
            field += f"[{part}]" + (f" ({name})" if name else "")
        elif isinstance(place, dict) and part not in place and part == place.get("source"):
            continue  # the tag of a union, not a key
        else:
            place = place.get(part) if isinstance(place, dict) else None
            field += f".{part}" if field else str(part)
    if error["type"] == "union_tag_invalid":
        context = error["ctx"]
        return (
            f"{field}.{context['discriminator'].strip(chr(39))}: must be {context['expected_tags']}; "
            f"got {context['tag']!r}"
        )
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    given = error["input"]
    if error["type"] in ("missing", "value_error") or isinstance(given, dict):
        return f"{field}: {message}" if field else message
    return f"{field}: {message}; got {given!r}"
