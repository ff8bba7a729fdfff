"""What a run directory says of itself: its config, its data and what is finished."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import Config
from pipeline.config_file import differences, parse_config, to_toml
from pipeline.digests import content_digest
from pipeline.directory import ELSEWHERE, is_run_directory
from pipeline.environment import FORMAT, environment
from pipeline.errors import ConfigError, RefusedError
from pipeline.files import write_whole
from pipeline.layout import CONFIG, ENVIRONMENT, LEDGER
from pipeline.ledger import Ledger
from pipeline.outline import Outline
from pipeline.plan import Plan, make_plan
from pipeline.store import RunStore
from pipeline.task import Finished
from pipeline.verification import TABLES, check_files, data_entry

SWEEP = "sweep"
"""The entry of the ledger that holds the config and the environment."""
WAYS_OUT = f"{ELSEWHERE}, or give --accept-changes to go on here and do again only what depends on them"


@dataclass(frozen=True)
class Record:
    """The config of a run, where its data came from, and the ledger."""

    root: Path
    config: Config
    data_folder: Path
    fingerprints: dict[str, str]
    """Of the data that the config is run with, by dataset."""
    finished: dict[str, Finished]

    @property
    def is_complete(self) -> bool:
        """Whether its tables were written for the config that it has now."""
        done_for = self.finished[TABLES].result["sweep"] if TABLES in self.finished else None
        return SWEEP in self.finished and done_for == self.finished[SWEEP].identity

    def outline(self, dataset: str) -> Outline | None:
        """What is known of a dataset, once its data are stored; those of an earlier config do not count."""
        entry = self.finished.get(data_entry(dataset))
        outline = Outline.of(entry.result["outline"]) if entry else None
        return outline if outline and outline.fingerprint == self.fingerprints.get(dataset) else None

    def plan(self) -> Plan | None:
        """The plan of the run, as far as the directory alone tells: None before all data are stored."""
        outlines = [self.outline(dataset.name) for dataset in self.config.dataset]
        known = [outline for outline in outlines if outline]
        return make_plan(self.config, known) if len(known) == len(outlines) else None


def read_record(root: Path, ledger: Ledger | None = None) -> Record:
    """Read what a run directory says of itself, or refuse: no run directory, another format, or damaged.

    The ledger holds the config and the environment too, and is believed rather than the files.
    """
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_format(root)
    finished = (ledger or Ledger(root / LEDGER)).read()
    files = finished[SWEEP].result["files"] if SWEEP in finished else _read_files(root)
    try:
        config = parse_config(tomllib.loads(files[CONFIG]), str(root / CONFIG))
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise RefusedError(f"{root / CONFIG} is damaged: {error}. {ELSEWHERE}") from None
    try:
        facts = json.loads(files[ENVIRONMENT])
        return Record(root, config, Path(facts["data_folder"]), dict(facts["datasets"]), finished)
    except (ValueError, KeyError, TypeError):
        raise RefusedError(f"{root / ENVIRONMENT} is damaged. {ELSEWHERE}") from None


def no_run_directory(root: Path) -> RefusedError:
    """For a place where no run was begun."""
    return RefusedError(f"{root} is not a run directory: there is no {CONFIG} in it")


def check_same_sweep(record: Record, config: Config, outlines: Sequence[Outline]) -> None:
    """Refuse a config or data that differ from those of a run directory."""
    if changes := differences(record.config, config):
        listed = "\n".join(f"  {line}" for line in changes)
        raise RefusedError(f"{record.root} holds another sweep; its config differs:\n{listed}\n{WAYS_OUT}")
    for outline in outlines:
        check_same_data(record, outline)


def check_same_data(record: Record, outline: Outline) -> None:
    """Refuse data that are not those that a run was begun with."""
    if record.fingerprints.get(outline.name, outline.fingerprint) != outline.fingerprint:
        raise RefusedError(
            f"the data of {outline.name!r} have changed since {record.root} was begun. Put the old data back. "
            f"{WAYS_OUT}"
        )


def write_record(root: Path, plan: Plan, data_folder: Path, ledger: Ledger) -> None:
    """Say in a run directory what it is for: first in the ledger, from which the files can be restored."""
    outlines = [dataset.outline for dataset in plan.datasets]
    files = {CONFIG: to_toml(plan.config), ENVIRONMENT: environment(outlines, data_folder)}
    digests = {name: content_digest(content.encode()) for name, content in files.items()}
    ledger.append(Finished(SWEEP, plan.identity, digests, {"files": files}, 0.0, 0))
    restore_record(root, ledger)


def restore_record(root: Path, ledger: Ledger) -> list[str]:
    """Write config and environment as the ledger has them, where they are not so; gives their names."""
    finished = ledger.read()
    if SWEEP not in finished:
        return []
    wrong = [problem.key for problem in check_files(finished[SWEEP], finished, RunStore(root))]
    for name in wrong:
        write_whole(root / name, finished[SWEEP].result["files"][name])
    return wrong


def check_format(root: Path) -> None:
    """Refuse a run directory of another format; one that is damaged is for others to tell."""
    try:
        version = int(json.loads((root / ENVIRONMENT).read_text("utf-8"))["format"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise RefusedError(
            f"{root} is of format {version}, which {age} version of this software wrote; this one reads format "
            f"{FORMAT}. {'Update it' if version > FORMAT else ELSEWHERE}"
        )


def _read_files(root: Path) -> dict[str, str]:
    """Config and environment of a directory whose ledger does not have them."""
    return {name: (root / name).read_text("utf-8", errors="replace") for name in (CONFIG, ENVIRONMENT)}
