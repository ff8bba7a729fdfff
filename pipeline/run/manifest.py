"""Read, check and write the manifest of a run directory: its config, the origin of its data, and its ledger."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from kernel_pipeline.config.loading import differences, parse_stored_config, to_toml
from kernel_pipeline.config.plugins import plugin_packages
from kernel_pipeline.config.s3_address import parse_s3
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.source_files import Sources, describe_sources
from kernel_pipeline.errors import CHOOSE_DIRECTORY, ConfigError, RefusedError, TooLargeError, UnreachableError
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.directory import is_run_directory, run_directory_around
from kernel_pipeline.run.environment import FORMAT, OLDEST_FORMAT, environment
from kernel_pipeline.run.verification import check_files
from kernel_pipeline.store.addresses import open_storage
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import SweepEntry
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, MARK
from kernel_pipeline.store.regular_files import MAX_TEXT_BYTES
from kernel_pipeline.store.storage import Storage

ACCEPT_HINT = (
    f"{CHOOSE_DIRECTORY}, or use `pipeline run` with --accept-changes to resume this run and recompute only what "
    "depends on the changes"
)


@dataclass(frozen=True)
class Manifest:
    """Everything that identifies a run, and what the ledger records as finished."""

    root: Storage
    config: Config
    data_folder: Path
    fingerprints: dict[str, str]
    """Fingerprints of the data that the config is run with, by dataset."""
    finished: LedgerState
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
        """Whether the tables were written for the current config."""
        sweep, tables = self.finished.sweep, self.finished.tables
        return sweep is not None and tables is not None and tables.sweep == sweep.identity

    def arrays(self) -> Storage:
        """Return the storage of the arrays."""
        return arrays_root(self.root, self.finished.sweep)

    def info(self, dataset: str) -> DatasetInfo | None:
        """Return the description of a dataset; None unless its data are stored for the current config."""
        entry = self.finished.data.get(dataset)
        return entry.info if entry and entry.info.fingerprint == self.fingerprints.get(dataset) else None

    def plan(self) -> Plan | None:
        """Return the plan of the run from its directory alone; None before all data are stored."""
        infos = [self.info(dataset.name) for dataset in self.config.dataset]
        known = [info for info in infos if info]
        return self.plan_of(known) if len(known) == len(infos) else None

    def plan_of(self, infos: Sequence[DatasetInfo]) -> Plan:
        """Return the plan of the run, given the descriptions of its datasets."""
        try:
            return make_plan(self.config, infos)
        except (ConfigError, TooLargeError) as error:
            raise RefusedError(f"{self.root} cannot be planned: {error}") from None


def read_manifest(root: Storage, ledger: Ledger | None = None) -> Manifest:
    """Read the manifest of a run directory.

    The copies of the config and the environment in the ledger take precedence over the files.

    Raises
    ------
    RefusedError
        If `root` is not a run directory, its format is not supported, or it is damaged.
    """
    if not is_run_directory(root):
        raise no_run_directory(root)
    check_format(root)
    finished = (ledger or Ledger(root)).read()
    files = finished.sweep.files if finished.sweep else _read_files(root)
    try:
        config = parse_stored_config(files[CONFIG], f"{root}/{CONFIG}")
    except (tomllib.TOMLDecodeError, ConfigError) as error:
        raise RefusedError(f"{root}/{CONFIG} is damaged: {error}. {CHOOSE_DIRECTORY}") from None
    except RecursionError:
        raise RefusedError(f"{root}/{CONFIG} is damaged: it is nested too deeply. {CHOOSE_DIRECTORY}") from None
    _check_arrays(root, config, finished.sweep)
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
        raise RefusedError(f"{root}/{ENVIRONMENT} is damaged. {CHOOSE_DIRECTORY}") from None


def no_run_directory(root: Storage) -> RefusedError:
    """Return the error for a directory in which no run was started, or for a path inside of a run directory."""
    if isinstance(root, LocalStorage) and (run := run_directory_around(root.path)) is not None:
        return RefusedError(f"{root} is not a run directory, but inside of one. Use the run directory: {quoted(run)}")
    return RefusedError(f"{root} is not a run directory: there is no {CONFIG} in it. `pipeline runs` lists your runs")


def check_same_sweep(manifest: Manifest, config: Config, infos: Sequence[DatasetInfo]) -> None:
    """Reject a config or data that differ from those of a run directory."""
    if changes := differences(manifest.config, config):
        listed = "\n".join(f"  {line}" for line in changes)
        raise RefusedError(f"{manifest.root} contains another sweep; its config differs:\n{listed}\n{ACCEPT_HINT}")
    for info in infos:
        check_same_data(manifest, info)


def check_same_data(manifest: Manifest, info: DatasetInfo) -> None:
    """Reject data that differ from those that a run was started with."""
    if manifest.fingerprints.get(info.name, info.fingerprint) != info.fingerprint:
        raise RefusedError(
            f"the data of {info.name!r} have changed since {manifest.root} was started. Restore the old data, or run "
            "the sweep with the new ones: in another run directory, or in this one with `pipeline run CONFIG --out "
            f"{quoted(manifest.root)} --accept-changes`, which recomputes only what depends on the changes"
        )


def write_manifest(root: Storage, plan: Plan, data_folder: Path, ledger: Ledger) -> None:
    """Write the manifest of a run, first to the ledger, from which the files can be restored."""
    infos = [dataset.info for dataset in plan.datasets]
    sources = describe_sources(plan.config, data_folder)
    plugins = [package for package, _ in plugin_packages(plan.config)]
    arrays, run = _choose_arrays(plan.config, ledger.read().sweep)
    entry = SweepEntry(
        identity=plan.identity,
        config=to_toml(plan.config),
        environment=environment(infos, data_folder, sources, plugins),
        arrays=arrays,
        run=run,
    )
    digests = {name: content_digest(content.encode()) for name, content in entry.files.items()}
    ledger.append(replace(entry, digests=digests))
    restore_manifest(root, ledger)


def arrays_root(root: Storage, sweep: SweepEntry | None) -> Storage:
    """Return the storage of the arrays: the run directory, unless the ledger names another one."""
    return open_storage(sweep.arrays) if sweep and sweep.arrays else root


def own_arrays_root(root: Storage, sweep: SweepEntry | None) -> Storage:
    """Return the storage of the arrays for writing. Outside the run directory, it must have the marker of this run."""
    arrays, run = arrays_root(root, sweep), sweep.run if sweep else ""
    if arrays is root:
        return root
    try:
        mark = arrays.read(MARK, MAX_TEXT_BYTES).decode(errors="replace").strip()
    except FileNotFoundError:
        mark = ""
    if not run or mark != run:
        found = f"{MARK} is {mark!r} there" if mark else f"there is no {MARK} there"
        raise RefusedError(
            f"{arrays} is not marked as belonging to the run in {root}: {found}, and the ledger has {run!r}. Arrays "
            "of another run, or of an earlier version of this package that wrote no such file, are neither changed "
            "nor removed. Run the sweep again in another directory with --out, and remove these arrays yourself if "
            "they are not needed"
        )
    return arrays


def _check_arrays(root: Storage, config: Config, sweep: SweepEntry | None) -> None:
    """Reject arrays outside the run directory that are not directly below the URL of the config."""
    if sweep and sweep.arrays and not _is_below(sweep.arrays, config.storage.url):
        raise RefusedError(
            f"the ledger of {root} names {sweep.arrays!r} for the arrays, which is not below [storage] url of the "
            f"config ({config.storage.url}): another program changed the ledger. {CHOOSE_DIRECTORY}"
        )


def _is_below(address: str, url: str | None) -> bool:
    """Return whether an address is that of a folder directly below a URL."""
    try:
        return url is not None and parse_s3(address).parent == parse_s3(url)
    except ValueError:
        return False


def _choose_arrays(config: Config, before: SweepEntry | None) -> tuple[str, str]:
    """Return the address of the arrays and the id of the run; both are empty for arrays in the run directory.

    A location outside the run directory is chosen and marked once, and kept until the URL of the config changes.
    """
    if config.storage.url is None:
        return "", ""
    if before and before.run and _is_below(before.arrays, config.storage.url):
        return before.arrays, before.run
    arrays, run = f"{config.storage.url}/{config.name}-{token_hex(4)}", token_hex(16)
    open_storage(arrays).write(MARK, f"{run}\n")
    return arrays, run


def restore_manifest(root: Storage, ledger: Ledger) -> list[str]:
    """Restore the config and the environment from the ledger if the files differ, and return their names."""
    sweep = ledger.read().sweep
    if sweep is None:
        return []
    wrong = [finding.key for finding in check_files(sweep, root)]
    for name in wrong:
        root.write(name, sweep.files[name])
    return wrong


def check_format(root: Storage) -> int:
    """Return the format of a run directory, and reject one that this version cannot read.

    A damaged environment file is treated as one of the current format, since other checks report the damage.
    """
    try:
        version = int(parse_json(root.read(ENVIRONMENT, MAX_TEXT_BYTES))["format"])
    except UnreachableError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return FORMAT
    if not OLDEST_FORMAT <= version <= FORMAT:
        age = "a newer" if version > FORMAT else "an older"
        raise RefusedError(
            f"{root} has format {version}, which {age} version of this package wrote; this version reads formats "
            f"{OLDEST_FORMAT} to {FORMAT}. {'Update this package' if version > FORMAT else CHOOSE_DIRECTORY}"
        )
    return version


def _read_files(root: Storage) -> dict[str, str]:
    """Read the config and the environment of a run whose ledger does not have them."""
    return {name: root.read(name, MAX_TEXT_BYTES).decode(errors="replace") for name in (CONFIG, ENVIRONMENT)}
