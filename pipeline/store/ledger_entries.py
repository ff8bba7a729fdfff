"""What an entry of the ledger may say. It is checked as lines are read, since a ledger may come from someone else."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.keys import is_digest, is_digest_of_inputs, is_entry_name, is_key, is_name
from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, FIGURES, GROUPS, RESULTS

SWEEP = "sweep"
"""The entry of the ledger that holds the config and the environment."""
TABLES = "tables"
"""The entry of the ledger that names the files of the result tables and figures."""
CLEANED = "cleaned"
"""The entry of the ledger that names the datasets whose big arrays were removed."""
ARRAYS = "arrays"
"""What of the entry of the sweep says where the arrays are, if not in the run directory."""
RUN = "run"
"""What of the entry of the sweep is the random id of the run, which the place of its arrays has too."""
DATA = "data"
RECORD = (CONFIG, ENVIRONMENT)
ARRAY_FOLDERS = tuple(f"{group}/" for group in GROUPS)


def data_entry(dataset: str) -> str:
    """The name in the ledger of a dataset's stored data and described arrays."""
    return f"{DATA}/{dataset}"


def check_entry(values: Any) -> None:
    """Check names, keys and types of an entry, and what the program itself reads from its result.

    Raises
    ------
    ValueError
        If a run cannot have written it.
    """
    _require(isinstance(values, dict), "it is not an object")
    name, digests, result = values.get("name"), values.get("digests"), values.get("result")
    _require(is_entry_name(name), "its name is not one of an entry")
    _require(isinstance(digests, dict) and isinstance(result, dict), "digests and result are not objects")
    _require(all(map(is_key, digests)) and all(map(is_digest, digests.values())), "it names files outside the run")
    seconds, peak_memory = values.get("seconds"), values.get("peak_memory")
    _require(type(seconds) in (int, float) and math.isfinite(seconds), "its time is not a number")
    _require(type(peak_memory) is int, "its memory is not a number")
    _require(all(isinstance(values.get(key, ""), str) for key in ("identity", "failed")), "it has other types")
    _require(is_digest_of_inputs(values.get("inputs", "")), "its inputs have no digest")
    stage, _, rest = name.partition("/")
    check, allowed = CHECKS.get(stage if rest else name, (_check_task, ARRAY_FOLDERS))
    _require(all(key.startswith(allowed) for key in digests), "it names files that it cannot have written")
    check(rest, result)


def _check_sweep(_: str, result: Mapping[str, Any]) -> None:
    files: Any = result.get("files")
    _require(isinstance(files, dict) and sorted(files) == sorted(RECORD), "it restores other files than the record")
    _require(all(isinstance(text, str) for text in files.values()), "it restores what is not text")
    _require(all(isinstance(result.get(key, ""), str) for key in (ARRAYS, RUN)), "it has other types")


def _check_tables(_: str, result: Mapping[str, Any]) -> None:
    _require(isinstance(result.get("sweep"), str), "it names no sweep")


def _check_cleaned(_: str, result: Mapping[str, Any]) -> None:
    datasets = result.get("datasets")
    _require(isinstance(datasets, list) and all(map(is_name, datasets)), "it has other names than those of datasets")


def _check_data(dataset: str, result: Mapping[str, Any]) -> None:
    _require(is_name(dataset), "it has another name than that of a dataset")
    info: Any = result.get("outline")
    _require(isinstance(info, dict), "it has no outline")
    _require(DatasetInfo.of(info).name == dataset, "its info is that of another dataset")


def _check_task(_: str, result: Mapping[str, Any]) -> None:
    trials = result.get("trials", {})
    _require(isinstance(trials, dict), "its trials are not an object")
    for part in (result, *trials.values()):
        _require(isinstance(part, dict) and isinstance(part.get("status", ""), str), "its status is not a text")


CHECKS: dict[str, tuple[Callable[[str, Mapping[str, Any]], None], tuple[str, ...]]] = {
    SWEEP: (_check_sweep, RECORD),
    TABLES: (_check_tables, (f"{RESULTS}/", f"{FIGURES}/")),
    CLEANED: (_check_cleaned, ()),
    DATA: (_check_data, ARRAY_FOLDERS),
}
"""For each kind of entry but those of tasks: what checks its result, and how the keys of its files begin."""


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
