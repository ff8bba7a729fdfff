"""Run and plan sweeps from Python, and open run directories: the public API.

Use it as `import kernel_pipeline as kp`; everything here is available there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kernel_pipeline.cluster import assume_role, released
from kernel_pipeline.cluster import errors as cluster_errors
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.config.arguments import (
    check_cluster,
    check_config,
    check_listeners,
    check_path,
    check_run_directory,
    check_settings,
    check_verify,
)
from kernel_pipeline.config.loading import config_values, parse_config, set_value
from kernel_pipeline.config.loading import read_config as read_config_file
from kernel_pipeline.config.profiles import find_profile
from kernel_pipeline.config.python_values import toml_values
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.data_directory import data_folder
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.errors import ClusterError, InterruptedRunError
from kernel_pipeline.events import Listener
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.run.options import Options, prepare_workers
from kernel_pipeline.run.run_results import RunResults
from kernel_pipeline.run.sweeps import choose_directory, run_sweep
from kernel_pipeline.store.addresses import open_storage
from kernel_pipeline.store.files import quoted

if TYPE_CHECKING:
    from distributed import Client

ConfigLike: TypeAlias = str | Path | Mapping[str, Any] | Config
"""Name of a shipped config, path of a TOML file, dict of its values, or a `Config`."""
CONFIG_LABEL = "the given config"
"""Name of a config that has no file, in error messages."""


@contextmanager
def _public_errors() -> Iterator[None]:
    """Raise the errors of clusters, which are not derived from `PipelineError`, as the public `ClusterError`."""
    try:
        yield
    except cluster_errors.ClusterError as error:
        raise ClusterError(str(error), error.exit_code) from error


def run(
    config: ConfigLike = "default",
    *,
    cluster: "str | Path | Client" = "local",
    out: str | Path | None = None,
    listeners: Sequence[Listener] = (),
    workers: int | None = None,
    insecure: bool = False,
    dashboard: bool = False,
    verify: Literal["quick", "full"] = "quick",
    fail_fast: bool = False,
    retry_failed: bool = False,
    accept_changes: bool = False,
    skip_too_large: bool = False,
    data_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> RunResults:
    """Run a sweep, or resume it if its directory exists, and wait until it is finished.

    Ctrl-C gives running tasks at most 30 seconds to finish and raises `InterruptedRunError`. The same call then resumes
    the run. A process executes one run at a time.

    Parameters
    ----------
    config
        Name of a shipped config, path of a TOML file, dict with the keys of a TOML file, or a `Config`.
    cluster
        Name or file of a profile, address of a scheduler, or a connected `distributed.Client`. A client is used as
        it is and stays open; the caller is responsible for its security.
    out
        The run directory, or s3://BUCKET/PREFIX. By default, runs/NAME-HASH.
    listeners
        Functions that are called with every event (see `kernel_pipeline.events`) in the thread of the run.
        `RunView()` prints notes and progress, as the command line does; results are read from the returned run.
    workers, insecure, dashboard, verify, fail_fast, retry_failed, accept_changes, skip_too_large, data_dir
        The same as the options of `pipeline run`.
    settings
        Values to change in the config, as with --set: a dict with dotted keys, such as `{"protocol.folds": 3}`.

    Returns
    -------
    RunResults
        The finished run. Cells that failed have the reason as their `status` in `rows`.

    Raises
    ------
    PipelineError
        If the run cannot start or finish; a `ClusterError` if the reason is the cluster. Messages are those of the CLI.

    Examples
    --------
    >>> import kernel_pipeline as kp
    >>> run = kp.run("default", cluster="local", listeners=[kp.RunView()])  # doctest: +SKIP
    >>> run.summary  # doctest: +SKIP
    """
    parsed, folder = _load(config, settings)
    profile = _profile(cluster, workers, insecure, dashboard)
    options = Options(profile, verify, fail_fast, retry_failed, accept_changes, skip_too_large)
    options = options if isinstance(cluster, str | Path) else replace(options, client=cluster)
    return _execute(parsed, data_folder(_path(data_dir), folder), out, options, listeners)


@_public_errors()
def _profile(cluster: "str | Path | Client", workers: int | None, insecure: bool, dashboard: bool) -> Profile:
    """Return the profile that `cluster` names; the default profile if it is a client.

    If all processes are started together, as with MPI, this runs the scheduler or a worker in this process, and returns
    only in the driver.
    """
    check_cluster(cluster, workers)
    named = isinstance(cluster, str | Path)
    profile = find_profile(str(cluster), workers, insecure, dashboard) if named else Profile()
    assume_role(profile)
    return profile


@_public_errors()
def _execute(
    config: Config, folder: Path, out: str | Path | None, options: Options, listeners: Sequence[Listener]
) -> RunResults:
    """Run a sweep until it is finished, and return its results."""
    check_listeners(listeners)
    check_verify(options.verify)
    if out is not None:
        check_run_directory("out", out)
    root = None if out is None else open_storage(out)
    try:
        with released(options.profile):
            prepare_workers(options, config)
            outcome = run_sweep(config, folder, root, options, listeners)
    except KeyboardInterrupt:
        directory = quoted(choose_directory(config, root))
        raise InterruptedRunError(
            f"stopped. `pipeline resume {directory}`, or the same call, resumes the run"
        ) from None
    return RunResults(outcome.root, folder)


def plan(
    config: ConfigLike = "default",
    *,
    data_dir: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the plan of a sweep: its tasks, and the memory and disk space that they need. Nothing is executed.

    Parameters
    ----------
    config, data_dir, settings
        As for `run`.

    Examples
    --------
    >>> import kernel_pipeline as kp
    >>> plan = kp.plan("default", settings={"protocol.folds": 3})
    >>> [dataset.name for dataset in plan.datasets]
    ['breast-cancer', 'diabetes', 'digits']
    """
    parsed, folder = _load(config, settings)
    folder = data_folder(_path(data_dir), folder)
    return make_plan(parsed, [prepare_dataset(parsed, dataset, folder).info for dataset in parsed.dataset])


def open_run(directory: str | Path, *, data_dir: str | Path | None = None) -> RunResults:
    """Open a run directory, finished or not, to read its results.

    Parameters
    ----------
    directory
        The run directory, or s3://BUCKET/PREFIX.
    data_dir
        Folder for relative paths of data files, used if a kernel has to be computed from the source data. By default,
        the folder that the run used.
    """
    check_run_directory("directory", directory)
    return RunResults(open_storage(directory), _path(data_dir))


def read_config(config: ConfigLike = "default", settings: Mapping[str, Any] | None = None) -> Config:
    """Return a validated config with every default filled in.

    Parameters
    ----------
    config, settings
        As for `run`.

    Examples
    --------
    >>> import kernel_pipeline as kp
    >>> kp.read_config("default", {"protocol.folds": 3}).protocol.folds
    3
    """
    return _load(config, settings)[0]


def _load(config: ConfigLike, settings: Mapping[str, Any] | None) -> tuple[Config, Path]:
    """Return a validated config, and the folder for relative paths of its data files."""
    check_config(config)
    check_settings(settings)
    folder = Path.cwd()
    if isinstance(config, str | Path):
        config, folder = read_config_file(str(config))
    if isinstance(config, Config):
        if not settings:
            return config, folder
        values = config_values(config)
    else:
        values = toml_values(config)
    for key, value in (settings or {}).items():
        set_value(values, key, value, f"{key}={value}")
    return parse_config(values, CONFIG_LABEL), folder


def _path(data_dir: str | Path | None) -> Path | None:
    if data_dir is None:
        return None
    check_path("data_dir", data_dir)
    return Path(data_dir)
