"""Runs in the default folder that a changed config could continue instead of starting again."""

import tomllib
from typing import Any

from kernel_pipeline.config.loading import config_values, load_toml, parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.events import ReusableRun
from kernel_pipeline.run.directory import default_directory
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import CONFIG
from kernel_pipeline.store.regular_files import MAX_RECORD_BYTES


def find_reusable_runs(config: Config) -> list[ReusableRun]:
    """Return the runs in the default folder to whose configs a config only adds entries.

    Only runs whose directory is named after the config are read.
    """
    folder = default_directory(config).parent
    found = []
    for directory in sorted(folder.glob(f"{config.name}-*")):
        try:
            text = LocalStorage(directory).read(CONFIG, MAX_RECORD_BYTES).decode()
            old = parse_config(load_toml(text), str(directory))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, PipelineError):
            continue  # not a run that could be continued
        added = additions(config_values(old), config_values(config))
        if added:
            found.append(ReusableRun(str(directory), tuple(added)))
    return found


def additions(old: Any, new: Any, where: str = "") -> list[str] | None:
    """Return the list entries that only the new values have; None if anything else differs.

    Examples
    --------
    >>> additions({"methods": ["unif"]}, {"methods": ["unif", "alignf"]})
    ["methods: 'alignf'"]
    >>> additions({"seed": 0}, {"seed": 1}) is None
    True
    """
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [key for key in old.keys() | new.keys() if where or key != "description"]
        if any(key not in old or key not in new for key in keys):
            return None
        parts = [additions(old[key], new[key], f"{where}.{key}" if where else key) for key in sorted(keys)]
    elif isinstance(old, list) and isinstance(new, list):
        parts = _list_additions(old, new, where)
    else:
        return [] if old == new else None
    return None if any(part is None for part in parts) else [line for part in parts if part for line in part]


def _list_additions(old: list[Any], new: list[Any], where: str) -> list[list[str] | None]:
    """Compare two lists. Tables are matched by their name; entries may be added anywhere."""
    names = {_name(entry): entry for entry in old}
    parts: list[list[str] | None] = []
    for entry in new:
        name = _name(entry)
        parts.append(additions(names.pop(name), entry, where) if name in names else [f"{where}: {name}"])
    return [*parts, None] if names else parts


def _name(entry: Any) -> str:
    """Return what identifies an entry of a list."""
    return repr(entry["name"] if isinstance(entry, dict) and "name" in entry else entry)
