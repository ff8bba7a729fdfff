"""Read configs from TOML files, apply `--set` options, and write configs as TOML."""

import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernel_pipeline.cluster.strict_model import did_you_mean, nearest_name
from kernel_pipeline.config.fit import fit_model
from kernel_pipeline.config.other_formats import explain_data_file, explain_invalid_toml, explain_unquoted
from kernel_pipeline.config.python_values import toml_values
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.config.validation_errors import describe_errors
from kernel_pipeline.errors import ConfigError

DEFAULT = "default"
# Configs have about four levels; much deeper nesting would exceed the recursion limit.
MAX_DEPTH = 50
LATER_KEYS: dict[str, Any] = {
    "baselines": False,
    "dataset.fit_on": "all",
    "fit.memory": "8 GiB",
    "fit.refit": "train",
    "protocol.permutations": 0,
    "protocol.repeats": 1,
    "storage.gram": "auto",
    "storage.keep_combined": False,
    "storage.keep_up_to": "20 GiB",
}
"""Keys that were added in later versions, and the values that correspond to the behaviour of earlier versions.

These values are not part of a digest, so that existing configs keep their digest, by which run directories are named.
"""


def shipped_configs() -> dict[str, str]:
    """Return the content of each shipped config, by name."""
    found = (entry for entry in files("kernel_pipeline.configs").iterdir() if entry.name.endswith(".toml"))
    return {entry.name.removesuffix(".toml"): entry.read_text("utf-8") for entry in sorted(found, key=lambda e: e.name)}


def read_config(name_or_path: str | None, settings: Sequence[str] = ()) -> tuple[Config, Path]:
    """Read and validate a config.

    Parameters
    ----------
    name_or_path
        Path of a TOML file, or name of a shipped config. Without it, the default config is read.
    settings
        Changes of the form `key=value`, as in `--set`.

    Returns
    -------
    config
        The validated config.
    folder
        Directory of the config, to which relative paths of data files refer by default.
    """
    text, where, folder = _find(name_or_path) if name_or_path else _shipped(DEFAULT)
    try:
        values = load_toml(text)
    except tomllib.TOMLDecodeError as error:
        reason = explain_invalid_toml(text, Path(where)) or explain_unquoted(text, str(error))
        raise ConfigError(f"{where} is not valid TOML: {reason}") from None
    for setting in settings:
        _apply(values, setting)
    return parse_config(values, where), folder


class NestedTooDeeplyError(tomllib.TOMLDecodeError):
    """Lists and tables of a TOML file are nested too deeply."""

    def __init__(self) -> None:
        super().__init__(f"it has more than {MAX_DEPTH} nested levels")


def load_toml(text: str) -> dict[str, Any]:
    """Parse TOML; text that is nested too deeply raises a `TOMLDecodeError` as well."""
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
    """Validate the values of a config; error messages name their origin, `where`."""
    values = toml_values(values)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        lines = describe_errors(error, values)
        raise ConfigError(
            f"{where} is not a valid config:\n"
            + "\n".join(f"  {line}" for line in lines)
            + "\n`pipeline config schema` prints all keys and their allowed values."
        ) from None


def parse_stored_config(text: str, where: str) -> Config:
    """Parse the resolved config of a run directory.

    It has every key of the version that wrote it. Keys that are missing have the values that earlier versions used.

    Raises
    ------
    TOMLDecodeError, ConfigError
        If it is damaged.
    """
    values = load_toml(text)
    for key, earlier in LATER_KEYS.items():
        if not key.startswith("dataset."):  # sources have different keys, whose defaults are their earlier values
            for table, last in _tables_with(values, key):
                table.setdefault(last, earlier)
    return parse_config(values, where)


def _tables_with(values: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the tables that a dotted key refers to, several for `dataset`, each with the last part of the key."""
    name, _, last = key.rpartition(".")
    found = values.get(name) if name else values
    for table in found if isinstance(found, list) else [found]:
        if isinstance(table, dict):
            yield table, last


def to_toml(config: Config) -> str:
    """Return the config as TOML, including all default values."""
    import tomli_w

    return tomli_w.dumps(config_values(config))


def config_digest(config: Config) -> str:
    """Return a short digest of all values except the description.

    A key in `LATER_KEYS` is included only if its value differs from the one that earlier versions used.
    """
    values = config_values(config)
    del values["description"]
    for key, earlier in LATER_KEYS.items():
        for table, last in _tables_with(values, key):
            if last in table and table[last] == earlier:
                del table[last]
    canonical = json.dumps(values, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def differences(old: Config, new: Config) -> list[str]:
    """List the fields in which two configs differ, one line per field."""
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
    """Return the name of a shipped config that is hidden by a file of the same name; empty if there is none."""
    return name_or_path if name_or_path in shipped_configs() and Path(name_or_path).is_file() else ""


def _shipped(name: str) -> tuple[str, str, Path]:
    return shipped_configs()[name], f"shipped config {name!r}", Path.cwd()


def _find(name_or_path: str) -> tuple[str, str, Path]:
    path = Path(name_or_path)
    if path.is_file():
        if (reason := explain_data_file(path)) is not None:
            raise ConfigError(f"{path} is not a config: {reason}")
        try:
            return path.read_text("utf-8-sig"), str(path), path.parent
        except (UnicodeDecodeError, OSError) as error:
            raise ConfigError(f"cannot read the config {path}: {error}") from None
    shipped = shipped_configs()
    if name_or_path in shipped:
        return _shipped(name_or_path)
    if path.is_dir():
        raise ConfigError(
            f"{name_or_path!r} is a folder; give a TOML file, or the name of a shipped config ({', '.join(shipped)})"
        )
    nearest = nearest_name(path.name, _config_files(path.parent))
    hint = did_you_mean(path.stem, shipped) if nearest is None else f" Did you mean {str(path.with_name(nearest))!r}?"
    raise ConfigError(
        f"there is no config {name_or_path!r}: it is neither a file nor a shipped config ({', '.join(shipped)}).{hint}"
    )


def _config_files(folder: Path) -> list[str]:
    """Return the names of the TOML files in a folder, sorted; none if it cannot be read."""
    try:
        return sorted(entry.name for entry in folder.glob("*.toml") if not entry.name.startswith("."))
    except OSError:
        return []


def _apply(values: dict[str, Any], setting: str) -> None:
    """Set one value in place: `protocol.folds=3`, or `dataset.NAME.rows=100` for the dataset of that name."""
    key, separator, text = setting.partition("=")
    if not separator or not key:
        raise ConfigError(f"--set {setting!r}: expected key=value, such as --set protocol.folds=3")
    if key.count(".") >= MAX_DEPTH:
        raise ConfigError(f"--set {setting[:50]}...: {NestedTooDeeplyError()}")
    try:
        value = load_toml(f"value = {text}")["value"]
    except NestedTooDeeplyError as error:
        raise ConfigError(f"--set {setting[:50]}...: {error}") from None
    except tomllib.TOMLDecodeError:
        value = text  # text without quotes is a string
    set_value(values, key.strip(), value, setting)


def set_value(values: dict[str, Any], key: str, value: Any, setting: str) -> None:
    """Change one value in place, given its dotted key; `setting` names it in messages.

    The other values of a grid that is not in the config have their defaults.
    """
    node: Any = values
    rest = key
    defaults: Any = {"fit": fit_model()().model_dump(by_alias=True)} if key.startswith("fit.") else {}
    while True:
        if isinstance(node, list):
            node, rest = _item(node, rest, setting)
        elif not isinstance(node, dict):
            raise ConfigError(f"--set {setting!r}: {rest!r} cannot be set, because its parent is not a table")
        part, dot, remainder = rest.partition(".")
        if not dot:
            node[part] = value
            return
        defaults = defaults.get(part) if isinstance(defaults, dict) else None
        is_grid = isinstance(defaults, dict) and "from" in defaults
        node, rest = node.setdefault(part, dict(defaults) if is_grid else {}), remainder


def _item(items: list[Any], path: str, setting: str) -> tuple[dict[str, Any], str]:
    """Return the table in a list that the start of a path names, and the rest of the path; names may contain dots."""
    tables = {str(item["name"]): item for item in items if isinstance(item, dict) and "name" in item}
    for name, table in tables.items():
        if path.startswith(f"{name}."):
            if sum(isinstance(item, dict) and item.get("name") == name for item in items) > 1:
                raise ConfigError(f"--set {setting!r}: several tables are named {name!r}; set the whole list")
            return table, path.removeprefix(f"{name}.")
    if not tables or "." not in path:
        raise ConfigError(
            f"--set {setting!r}: {path!r} follows a list; set the whole list, or name an item of the list, as in "
            "dataset.NAME.rows=100"
        )
    raise ConfigError(
        f"--set {setting!r}: there is no table named {path.partition('.')[0]!r}. Available: {', '.join(tables)}"
    )
