"""What a run directory says of itself: its config, its data and what is finished."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from kernel_pipeline.config.loading import differences, load_toml, parse_config, to_toml
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.source_files import Sources, describe_sources
from kernel_pipeline.errors import ELSEWHERE, ConfigError, RefusedError, TooLargeError, UnreachableError
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.environment import FORMAT, OLDEST_FORMAT, environment
from kernel_pipeline.run.verification import TABLES, check_files, data_entry
from kernel_pipeline.store.addresses import open_root
from kernel_pipeline.store.dataset_info import Outline
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import ARRAYS, RUN
from kernel_pipeline.store.ledger_entries import SWEEP as SWEEP
from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, MARK
from kernel_pipeline.store.regular_files import MAX_RECORD_BYTES
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root

WAYS_OUT = f"{ELSEWHERE}, or give --accept-changes to go on here and do again only what depends on them"


@dataclass(frozen=True)
class Record:
    """The config of a run, where its data came from, and the ledger."""

    root: Root
    config: Config
    data_folder: Path
    fingerprints: dict[str, str]
    """Of the data that the config is run with, by dataset."""
    finished: dict[str, Finished]
    sources: Sources
    """The files that the data came from, as they were when the config was accepted."""
    format: int
    """Version of the layout of the directory."""

    @property
    def is_current(self) -> bool:
        """Whether its layout is the one that this version writes."""
        return self.format == FORMAT

    @property
    def is_complete(self) -> bool:
        """Whether its tables were written for the config that it has now."""
        done_for = self.finished[TABLES].result["sweep"] if TABLES in self.finished else None
        return SWEEP in self.finished and done_for == self.finished[SWEEP].identity

    def arrays(self) -> Root:
        """Where its arrays are."""
        return arrays_root(self.root, self.finished)

    def outline(self, dataset: str) -> Outline | None:
        """What is known of a dataset, once its data are stored; those of an earlier config do not count."""
        entry = self.finished.get(data_entry(dataset))
        outline = Outline.of(entry.result["outline"]) if entry else None
        return outline if outline and outline.fingerprint == self.fingerprints.get(dataset) else None

    def plan(self) -> Plan | None:
        """The plan of the run, as far as the directory alone tells: None before all data are stored."""
        outlines = [self.outline(dataset.name) for dataset in self.config.dataset]
        known = [outline for outline in outlines if outline]
        return self.plan_of(known) if len(known) == len(outlines) else None

    def plan_of(self, outlines: Sequence[Outline]) -> Plan:
        """The plan of the run for outlines of its data."""
        try:
            return make_plan(self.config, outlines)
        except (ConfigError, TooLargeError) as error:
            raise RefusedError(f"{self.root} has no plan that can be run: {error}") from None


def read_record(root: Root, ledger: Ledger | None = None) -> Record:
    """Read what a run directory says of itself, or refuse: no run directory, another format, or damaged.

    The ledger holds the config and the environment too, and is believed rather than the files.
    """
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_format(root)
    finished = (ledger or Ledger(root)).read()
    files = finished[SWEEP].result["files"] if SWEEP in finished else _read_files(root)
    try:
        config = parse_config(load_toml(files[CONFIG]), f"{root}/{CONFIG}")
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise RefusedError(f"{root}/{CONFIG} is damaged: {error}. {ELSEWHERE}") from None
    except RecursionError:
        raise RefusedError(f"{root}/{CONFIG} is damaged: it is nested too deeply. {ELSEWHERE}") from None
    _check_arrays(root, config, finished)
    try:
        facts = parse_json(files[ENVIRONMENT].encode())
        return Record(
            root,
            config,
            Path(facts["data_folder"]),
            dict(facts["datasets"]),
            finished,
            dict(facts.get("sources", {})),
            int(facts.get("format", FORMAT)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise RefusedError(f"{root}/{ENVIRONMENT} is damaged. {ELSEWHERE}") from None


def no_run_directory(root: Root) -> RefusedError:
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


def write_record(root: Root, plan: Plan, data_folder: Path, ledger: Ledger) -> None:
    """Say in a run directory what it is for: first in the ledger, from which the files can be restored."""
    outlines = [dataset.outline for dataset in plan.datasets]
    sources = describe_sources(plan.config, data_folder)
    files = {CONFIG: to_toml(plan.config), ENVIRONMENT: environment(outlines, data_folder, sources)}
    digests = {name: content_digest(content.encode()) for name, content in files.items()}
    result = {"files": files} | _choose_arrays(plan.config, ledger)
    ledger.append(Finished(SWEEP, plan.identity, digests, result, 0.0, 0))
    restore_record(root, ledger)


def arrays_root(root: Root, finished: Mapping[str, Finished]) -> Root:
    """Where the arrays of a run are: where all else is, unless its config says otherwise."""
    elsewhere = finished[SWEEP].result.get(ARRAYS) if SWEEP in finished else None
    return open_root(elsewhere) if elsewhere else root


def own_arrays_root(root: Root, finished: Mapping[str, Finished]) -> Root:
    """Where the arrays of a run are, to write or remove them: a place that has the mark of this run, if elsewhere."""
    arrays = arrays_root(root, finished)
    if arrays is root:
        return root
    run = finished[SWEEP].result.get(RUN, "")
    try:
        mark = arrays.read(MARK, MAX_RECORD_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        mark = ""
    if not run or mark != run:
        found = f"{MARK} is {mark!r} there" if mark else f"there is no {MARK} there"
        raise RefusedError(
            f"{arrays} does not say that it belongs to the run in {root}: {found}, and the ledger has {run!r}. Nothing "
            "is written to or removed from a place of another run, or of a version that left no mark. Run the sweep "
            "again in another directory with --out, and remove that place yourself if nobody needs it"
        )
    return arrays


def _check_arrays(root: Root, config: Config, finished: Mapping[str, Finished]) -> None:
    """Refuse arrays elsewhere that are not right below the place that the config names."""
    elsewhere = finished[SWEEP].result.get(ARRAYS) if SWEEP in finished else None
    if elsewhere is None:
        return
    try:
        above = str(parse_s3(elsewhere)).rpartition("/")[0]
    except ValueError:
        above = ""
    if not above or above != config.storage.url:
        raise RefusedError(
            f"the ledger of {root} says that the arrays are in {elsewhere!r}, which is not below [storage] url of its "
            f"config ({config.storage.url}): something else changed the file. {ELSEWHERE}"
        )


def _choose_arrays(config: Config, ledger: Ledger) -> dict[str, str]:
    """Where the arrays go, if not into the run directory: a place of this run's own, chosen and marked once."""
    if config.storage.url is None:
        return {}
    before = ledger.read().get(SWEEP)
    result = before.result if before else {}
    chosen, run = str(result.get(ARRAYS, "")), str(result.get(RUN, ""))
    if chosen.rpartition("/")[0] != config.storage.url or not run:
        chosen, run = f"{config.storage.url}/{config.name}-{token_hex(4)}", token_hex(16)
        open_root(chosen).write(MARK, f"{run}\n")
    return {ARRAYS: chosen, RUN: run}


def restore_record(root: Root, ledger: Ledger) -> list[str]:
    """Write config and environment as the ledger has them, where they are not so; gives their names."""
    finished = ledger.read()
    if SWEEP not in finished:
        return []
    wrong = [problem.key for problem in check_files(finished[SWEEP], finished, root)]
    for name in wrong:
        root.write(name, finished[SWEEP].result["files"][name])
    return wrong


def check_format(root: Root) -> int:
    """Return the format of a run directory, and refuse one that cannot be read; damage is reported by other checks."""
    try:
        version = int(parse_json(root.read(ENVIRONMENT, MAX_RECORD_BYTES))["format"])
    except UnreachableError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return FORMAT
    if not OLDEST_FORMAT <= version <= FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise RefusedError(
            f"{root} is of format {version}, which {age} version of this software wrote; this one reads formats "
            f"{OLDEST_FORMAT} to {FORMAT}. {'Update it' if version > FORMAT else ELSEWHERE}"
        )
    return version


def _read_files(root: Root) -> dict[str, str]:
    """Config and environment of a directory whose ledger does not have them."""
    return {name: root.read(name, MAX_RECORD_BYTES).decode(errors="replace") for name in (CONFIG, ENVIRONMENT)}
