"""Find runs in the default folder whose results a changed config could reuse."""

import tomllib
from collections.abc import Mapping
from typing import Any

from kernel_pipeline.config.loading import config_values, parse_stored_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.events import ReusableRun
from kernel_pipeline.run.directory import default_directory
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import CONFIG
from kernel_pipeline.store.regular_files import MAX_TEXT_BYTES

ADDABLE = ("dataset", "methods")
"""Lists of a config to which entries can be added without affecting the results of the others."""


def find_reusable_runs(config: Config, accept_changes: bool = False) -> list[ReusableRun]:
    """Return the runs in the default folder whose configs differ from a config only by missing entries.

    Only runs whose directory is named after the config are read.

    Parameters
    ----------
    accept_changes
        Whether to return, if there is no such run, the latest run whose config differs in another way.
    """
    folder = default_directory(config).parent
    found, others = [], []
    for directory in sorted(folder.glob(f"{config.name}-*")):
        try:
            text = LocalStorage(directory).read(CONFIG, MAX_TEXT_BYTES).decode()
            old = parse_stored_config(text, str(directory))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, PipelineError):
            continue  # not a run whose results could be reused
        added = additions(config_values(old), config_values(config))
        if added:
            found.append(ReusableRun(str(directory), tuple(added)))
        elif added is None and old.name == config.name:
            others.append(directory)
    if others and accept_changes and not found:
        latest = max(others, key=lambda directory: directory.stat().st_mtime)
        found.append(ReusableRun(str(latest), ()))
    return found


def additions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str] | None:
    """Return the methods, baselines and datasets that only the new config has; None if anything else differs.

    A dataset that has changed is not an addition: none of its results can be reused.

    Examples
    --------
    >>> additions({"methods": ["unif"], "dataset": []}, {"methods": ["unif", "alignf"], "dataset": []})
    ["methods: 'alignf'"]
    >>> one = {"name": "clinic", "drop": []}
    >>> additions({"methods": [], "dataset": [one]}, {"methods": [], "dataset": [one | {"drop": ["id"]}]}) is None
    True
    """
    fixed = (old.keys() | new.keys()) - {"description", "baselines", *ADDABLE}
    if any(old.get(key) != new.get(key) for key in fixed) or (old.get("baselines") and not new.get("baselines")):
        return None
    if any(entry not in new[key] for key in ADDABLE for entry in old[key]):
        return None
    added = [f"{key}: {_name(entry)!r}" for key in ADDABLE for entry in new[key] if entry not in old[key]]
    return added + (["baselines"] if new.get("baselines") and not old.get("baselines") else [])


def _name(entry: Any) -> Any:
    """Return the name of a dataset; for a method, its whole entry."""
    return entry["name"] if isinstance(entry, dict) and "name" in entry else entry
