"""The manifest of a run directory: its config, its data and what is finished."""

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
from kernel_pipeline.store.addresses import open_storage
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import ARRAYS, RUN
from kernel_pipeline.store.ledger_entries import SWEEP as SWEEP
from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, MARK
from kernel_pipeline.store.regular_files import MAX_RECORD_BYTES
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Storage

WAYS_OUT = f"{ELSEWHERE}, or give --accept-changes to continue here and compute only what depends on them again"


@dataclass(frozen=True)
class Manifest:
    """The config of a run, the origin of its data, and the ledger."""

    root: Storage
    config: Config
    data_folder: Path
    fingerprints: dict[str, str]
    """Fingerprints of the data that the config is run with, by dataset."""
    finished: dict[str, Finished]
    sources: Sources
    """The source files of the data, as they were when the config was accepted."""
    format: int
    """Version of the layout of the run directory."""

    @property
    def is_current(self) -> bool:
        """Whether the layout is the one that this version writes."""
        return self.format == FORMAT

    @property
    def is_complete(self) -> bool:
        """Whether the tables were written for the present config."""
        done_for = self.finished[TABLES].result["sweep"] if TABLES in self.finished else None
        return SWEEP in self.finished and done_for == self.finished[SWEEP].identity

    def arrays(self) -> Storage:
        """Return the storage of the arrays."""
        return arrays_root(self.root, self.finished)

    def info(self, dataset: str) -> DatasetInfo | None:
        """Return the sizes of a dataset once its data are stored; data of an earlier config do not count."""
        entry = self.finished.get(data_entry(dataset))
        info = DatasetInfo.of(entry.result["outline"]) if entry else None
        return info if info and info.fingerprint == self.fingerprints.get(dataset) else None

    def plan(self) -> Plan | None:
        """Return the plan of the run from its directory alone; None before all data are stored."""
        infos = [self.info(dataset.name) for dataset in self.config.dataset]
        known = [info for info in infos if info]
        return self.plan_of(known) if len(known) == len(infos) else None

    def plan_of(self, infos: Sequence[DatasetInfo]) -> Plan:
        """Return the plan of the run, given the sizes of its data."""
        try:
            return make_plan(self.config, infos)
        except (ConfigError, TooLargeError) as error:
            raise RefusedError(f"{self.root} cannot be planned: {error}") from None


def read_manifest(root: Storage, ledger: Ledger | None = None) -> Manifest:
    """Read the manifest of a run directory.

    The ledger has a copy of config and environment, which takes precedence over the files.

    Raises
    ------
    RefusedError
        If it is not a run directory, or its format is not known, or it is damaged.
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
        return Manifest(
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


def no_run_directory(root: Storage) -> RefusedError:
    """Return the error for a directory in which no run was started."""
    return RefusedError(f"{root} is not a run directory: there is no {CONFIG} in it")


def check_same_sweep(manifest: Manifest, config: Config, infos: Sequence[DatasetInfo]) -> None:
    """Reject a config or data that differ from those of a run directory."""
    if changes := differences(manifest.config, config):
        listed = "\n".join(f"  {line}" for line in changes)
        raise RefusedError(f"{manifest.root} contains another sweep; its config differs:\n{listed}\n{WAYS_OUT}")
    for info in infos:
        check_same_data(manifest, info)


def check_same_data(manifest: Manifest, info: DatasetInfo) -> None:
    """Reject data that differ from those that a run was started with."""
    if manifest.fingerprints.get(info.name, info.fingerprint) != info.fingerprint:
        raise RefusedError(
            f"the data of {info.name!r} have changed since {manifest.root} was started. Restore the old "
            f"data. {WAYS_OUT}"
        )


def write_manifest(root: Storage, plan: Plan, data_folder: Path, ledger: Ledger) -> None:
    """Write the manifest of a run: first to the ledger, from which the files can be restored."""
    infos = [dataset.info for dataset in plan.datasets]
    sources = describe_sources(plan.config, data_folder)
    files = {CONFIG: to_toml(plan.config), ENVIRONMENT: environment(infos, data_folder, sources)}
    digests = {name: content_digest(content.encode()) for name, content in files.items()}
    result = {"files": files} | _choose_arrays(plan.config, ledger)
    ledger.append(Finished(SWEEP, plan.identity, digests, result, 0.0, 0))
    restore_manifest(root, ledger)


def arrays_root(root: Storage, finished: Mapping[str, Finished]) -> Storage:
    """Return the storage of the arrays: the run directory, unless the config names another one."""
    elsewhere = finished[SWEEP].result.get(ARRAYS) if SWEEP in finished else None
    return open_storage(elsewhere) if elsewhere else root


def own_arrays_root(root: Storage, finished: Mapping[str, Finished]) -> Storage:
    """Return the storage of the arrays for writing. Outside the run directory it must have the mark of this run."""
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
            f"{arrays} is not marked as belonging to the run in {root}: {found}, and the ledger has {run!r}. Nothing "
            "is written to or removed from the arrays of another run, or of a version that left no mark. Run the sweep "
            "again in another directory with --out, and remove these arrays yourself if nobody needs them"
        )
    return arrays


def _check_arrays(root: Storage, config: Config, finished: Mapping[str, Finished]) -> None:
    """Reject arrays outside the run directory that are not directly below the URL of the config."""
    elsewhere = finished[SWEEP].result.get(ARRAYS) if SWEEP in finished else None
    if elsewhere is None:
        return
    try:
        above = str(parse_s3(elsewhere)).rpartition("/")[0]
    except ValueError:
        above = ""
    if not above or above != config.storage.url:
        raise RefusedError(
            f"the ledger of {root} names {elsewhere!r} for the arrays, which is not below [storage] url of the config "
            f"({config.storage.url}): another program changed the file. {ELSEWHERE}"
        )


def _choose_arrays(config: Config, ledger: Ledger) -> dict[str, str]:
    """Choose and mark, once, a location of its own for the arrays of a run outside its directory."""
    if config.storage.url is None:
        return {}
    before = ledger.read().get(SWEEP)
    result = before.result if before else {}
    chosen, run = str(result.get(ARRAYS, "")), str(result.get(RUN, ""))
    if chosen.rpartition("/")[0] != config.storage.url or not run:
        chosen, run = f"{config.storage.url}/{config.name}-{token_hex(4)}", token_hex(16)
        open_storage(chosen).write(MARK, f"{run}\n")
    return {ARRAYS: chosen, RUN: run}


def restore_manifest(root: Storage, ledger: Ledger) -> list[str]:
    """Write config and environment as the ledger has them where the files differ, and return their names."""
    finished = ledger.read()
    if SWEEP not in finished:
        return []
    wrong = [problem.key for problem in check_files(finished[SWEEP], finished, root)]
    for name in wrong:
        root.write(name, finished[SWEEP].result["files"][name])
    return wrong


def check_format(root: Storage) -> int:
    """Return the format of a run directory. Reject one that cannot be read; other checks report damage."""
    try:
        version = int(parse_json(root.read(ENVIRONMENT, MAX_RECORD_BYTES))["format"])
    except UnreachableError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return FORMAT
    if not OLDEST_FORMAT <= version <= FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise RefusedError(
            f"{root} has format {version}, which {age} version of this software wrote; this version reads formats "
            f"{OLDEST_FORMAT} to {FORMAT}. {'Update it' if version > FORMAT else ELSEWHERE}"
        )
    return version


def _read_files(root: Storage) -> dict[str, str]:
    """Read config and environment of a run whose ledger does not have them."""
    return {name: root.read(name, MAX_RECORD_BYTES).decode(errors="replace") for name in (CONFIG, ENVIRONMENT)}
