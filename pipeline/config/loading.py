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

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError

DEFAULT = "default"
# Real configs have four levels or so; what is far deeper would exhaust the stack of recursive functions.
MAX_DEPTH = 50

# Where pydantic's own words speak of Python rather than of a config.
MESSAGES = {
    "missing": "is missing",
    "union_tag_not_found": "needs a key {discriminator}",
    "list_type": "must be a list in brackets; tables of a list are written [[name]]",
    "tuple_type": "must be a list of two numbers",
    "too_short": "needs at least {min_length} item(s)",
    "too_long": "takes at most {max_length} item(s)",
    "dict_type": "must be a table of word = number",
    "model_type": "must be a table",
    "string_too_short": "must not be empty",
    "extra_forbidden": "is not a key that is known",
    "string_pattern_mismatch": "must be of letters, digits and . _ - only, the first a letter or a digit",
}


def shipped_configs() -> dict[str, str]:
    """The text of each shipped config, by name."""
    found = (entry for entry in files("kernel_pipeline.configs").iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry.read_text("utf-8") for entry in sorted(found, key=lambda e: e.name)}


def read_config(name_or_path: str | None, settings: Sequence[str] = ()) -> tuple[Config, Path]:
    """Read, change by `key=value` settings and validate a config.

    Returns
    -------
    config, folder
        The folder is where relative paths of data files are looked up at last.
    """
    text, where, folder = _find(name_or_path) if name_or_path else _shipped(DEFAULT)
    try:
        values = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not valid TOML: {error}") from None
    for setting in settings:
        _apply(values, setting)
    return parse_config(values, where), folder


class NestedTooDeeplyError(tomllib.TOMLDecodeError):
    """TOML with more levels of lists and tables than any config has."""

    def __init__(self) -> None:
        super().__init__(f"it is nested more than {MAX_DEPTH} levels deep")


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML; what is nested too deeply to be processed is an error of the text, as any other."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise NestedTooDeeplyError from None
    level: list[Any] = [values]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        level = [inner for inner in level if isinstance(inner, dict | list)]
        if not level:
            return values
    raise NestedTooDeeplyError


def parse_config(values: dict[str, Any], where: str) -> Config:
    """Validate the values of a config; `where` names their origin in messages."""
    try:
        return Config.model_validate(_whole_numbers(values))
    except ValidationError as error:
        lines = sentences(error, values)
        raise ConfigError(
            f"{where} is not a valid config:\n"
            + "\n".join(f"  {line}" for line in lines)
            + "\n`pipeline config schema` prints every key and what it allows."
        ) from None


def _whole_numbers(value: Any) -> Any:
    """5.0 is 5; where a field takes any number, 5 becomes 5.0 again."""
    if isinstance(value, dict):
        return {key: _whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def to_toml(config: Config) -> str:
    """The resolved config, every default filled in."""
    import tomli_w

    return tomli_w.dumps(config_values(config))


def config_digest(config: Config) -> str:
    """A short digest of all that may change a result."""
    values = config_values(config)
    del values["description"]
    canonical = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def differences(old: Config, new: Config) -> list[str]:
    """The fields in which two configs differ, a line each."""
    before, after = _flatten(config_values(old)), _flatten(config_values(new))
    return [
        f"{key}: {before.get(key, 'not set')} -> {after.get(key, 'not set')}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and key != "description"
    ]


def config_values(config: Config) -> dict[str, Any]:
    """Return a config as the values of its TOML file, with every default filled in."""
    values = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in config.fit.unused_extensions(config.methods):
        values["fit"].pop(name, None)  # the method may have been registered after the config was made
    return values


def _flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        items = [(f"{prefix}.{key}" if prefix else str(key), inner) for key, inner in value.items()]
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        items = [(f"{prefix}[{number}]", inner) for number, inner in enumerate(value)]
    else:
        return {prefix: value}
    return {key: leaf for name, inner in items for key, leaf in _flatten(inner, name).items()}


def hidden_config(name_or_path: str | None) -> str:
    """The name of a shipped config in whose place a file of that name is read; empty if there is none."""
    return name_or_path if name_or_path in shipped_configs() and Path(name_or_path).is_file() else ""


def _shipped(name: str) -> tuple[str, str, Path]:
    return shipped_configs()[name], f"shipped config {name!r}", Path.cwd()


def _find(name_or_path: str) -> tuple[str, str, Path]:
    path = Path(name_or_path)
    if path.is_file():
        try:
            return path.read_text("utf-8-sig"), str(path), path.parent
        except (UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"cannot read the config {path}: {error}") from None
    shipped = shipped_configs()
    if name_or_path in shipped:
        return _shipped(name_or_path)
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
    if key.count(".") >= MAX_DEPTH:
        raise ConfigError(f"--set {setting[:50]}...: {NestedTooDeeplyError()}")
    try:
        value = load_toml(f"value = {text}")["value"]
    except NestedTooDeeplyError as error:
        raise ConfigError(f"--set {setting[:50]}...: {error}") from None
    except tomllib.TOMLDecodeError:
        value = text  # a bare word is a text
    set_value(values, key.strip(), value, setting)


def set_value(values: dict[str, Any], key: str, value: Any, setting: str) -> None:
    """Change one value in place, given its dotted key; `setting` names it in messages."""
    place: Any = values
    rest = key
    while True:
        if isinstance(place, list):
            place, rest = _item(place, rest, setting)
        elif not isinstance(place, dict):
            raise ConfigError(f"--set {setting!r}: what should hold {rest!r} is not a table")
        part, dot, behind = rest.partition(".")
        if not dot:
            place[part] = value
            return
        place, rest = place.setdefault(part, {}), behind


def _item(items: list[Any], path: str, setting: str) -> tuple[dict[str, Any], str]:
    """The table of a list that a path begins with the name of, and the rest of the path; names may hold dots."""
    tables = {str(item["name"]): item for item in items if isinstance(item, dict) and "name" in item}
    for name, table in tables.items():
        if path.startswith(f"{name}."):
            return table, path.removeprefix(f"{name}.")
    if not tables or "." not in path:
        raise ConfigError(f"--set {setting!r}: a list is not a table; give all of it, or the name of an item first")
    raise ConfigError(f"--set {setting!r}: there is no {path.partition('.')[0]!r}; there are: {', '.join(tables)}")


def sentences(error: ValidationError, values: dict[str, Any]) -> list[str]:
    """A line a field: the field, what it must be, what was given."""
    problems: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    fields = [_field(item["loc"], values, required=item["type"] == "missing") for item in error.errors()]
    for field, item in zip(fields, error.errors(), strict=True):
        inside = [other for other in fields if other.startswith(field)]
        if item["type"] == "literal_error" and isinstance(item["input"], dict) and len(inside) > 1:
            continue  # a name or a table may stand here: of a table it matters what is wrong inside
        message = MESSAGES.get(item["type"], "").format(**item.get("ctx", {}))
        message = message or item["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
        if item["type"] == "union_tag_invalid":
            field += f".{item['ctx']['discriminator']}".replace("'", "")
            message = f"must be one of {item['ctx']['expected_tags']}; got {item['ctx']['tag']!r}"
        elif item["type"] not in ("missing", "value_error") and not isinstance(item["input"], dict):
            given[field] = f"; got {item['input']!r}"
        problems.setdefault(field, []).append(message)
    return [
        (f"{field}: " if field else "")
        + ", or ".join(dict.fromkeys(messages)).replace(", or must be", ", or")
        + given.get(field, "")
        for field, messages in problems.items()
    ]


def _field(location: tuple[int | str, ...], values: dict[str, Any], required: bool) -> str:
    """A place in a config, in its own words: pydantic's location also names types, which are left out."""
    place: Any = values
    field = ""
    for number, part in enumerate(location):
        if isinstance(part, int):
            place = place[part] if isinstance(place, list) and part < len(place) else None
            name = place.get("name") if isinstance(place, dict) else None
            field += f"[{part}]" + (f" ({name})" if name else "")
        elif (isinstance(place, dict) and part in place) or (required and number == len(location) - 1):
            place = place.get(part) if isinstance(place, dict) else None
            field += f".{part}" if field else str(part)
    return field
