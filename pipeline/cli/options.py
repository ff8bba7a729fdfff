"""Define the arguments and options that commands share, and the console to which they print."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from kernel_pipeline.cluster.profile import Profile
    from kernel_pipeline.config.sweep import Config
    from kernel_pipeline.store.storage import Storage


def open_storage(address: str) -> "Storage":
    """Open a folder, or s3://bucket/prefix; raise an error if it cannot be reached."""
    from kernel_pipeline.store.addresses import open_storage

    return open_storage(address)


config_argument = click.argument("config", required=False)


def _data_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option for the folder of data files, with a description of its default."""
    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder for relative paths of data files. Default: {default}.",
    )


data_option = _data_option("PIPELINE_DATA_DIR, or else the folder of the config")
stored_data_option = _data_option("the folder that the run was started with")
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the config, such as protocol.folds=3 or dataset.NAME.rows=200. Can be repeated.",
)
directory_argument = click.argument("directory", type=open_storage, metavar="DIRECTORY")


def cluster_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose a cluster."""
    for option in (
        click.option("--insecure", is_flag=True, help="Allow connections without TLS, in a network that you trust."),
        click.option("--workers", type=click.IntRange(min=1), help="Number of workers. Default: set by the profile."),
        click.option(
            "--cluster",
            default="local",
            show_default=True,
            help="Name or file of a profile (`pipeline clusters`), address of a scheduler, or its scheduler file.",
        ),
    ):
        command = option(command)
    return command


def running_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that control the execution and do not affect results."""
    for option in (
        click.option("--dashboard", is_flag=True, help="Serve Dask's dashboard to all users of the driver's host."),
        click.option("--retry-failed", is_flag=True, help="Retry the tasks of the run that failed earlier."),
        click.option("--fail-fast", is_flag=True, help="Stop at the first failure. Default: run the other tasks."),
        click.option(
            "--verify",
            type=click.Choice(("quick", "full")),
            default="quick",
            show_default=True,
            help="How to check the files of finished tasks: quick compares sizes and stored checksums, full reads "
            "every byte.",
        ),
    ):
        command = option(command)
    return cluster_options(command)


def sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options of commands that start a sweep."""
    for option in (
        set_option,
        data_option,
        click.option(
            "--skip-too-large",
            is_flag=True,
            help="Leave out datasets that are too large for the workers or the disk, and run the others.",
        ),
        click.option("--accept-changes", is_flag=True, help="Resume the run even if its config or data have changed."),
        click.option(
            "--out",
            type=open_storage,
            metavar="DIR",
            help="Run directory, or s3://BUCKET/PREFIX. Default: runs/NAME-HASH.",
        ),
        running_options,
        config_argument,
    ):
        command = option(command)
    return command


def resume_arguments(running: dict[str, Any]) -> list[str]:
    """Return the running options as arguments of `pipeline resume`, valid in any working directory."""
    from kernel_pipeline.config.profiles import known_profiles

    cluster = running["cluster"]
    is_file = cluster not in known_profiles() and Path(cluster).is_file()
    given = {**running, "cluster": str(Path(cluster).absolute()) if is_file else cluster}
    arguments = []
    for name, value in given.items():
        if value is not None and value is not False:
            arguments += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return arguments


def take_profile(running: dict[str, Any]) -> "Profile":
    """Remove the cluster options from the running options, and return their profile.

    Under MPI, the processes of the scheduler and the workers do not return from this call.
    """
    from kernel_pipeline.cluster import assume_role, released
    from kernel_pipeline.config.profiles import find_profile

    profile = find_profile(*(running.pop(name) for name in ("cluster", "workers", "insecure", "dashboard")))
    assume_role(profile)
    click.get_current_context().with_resource(released(profile))
    return profile


def load_config(name_or_path: str | None, settings: Sequence[str]) -> "tuple[Config, Path]":
    """Read a config, and print a note if a file hides a shipped config of the same name."""
    from kernel_pipeline.config.loading import hidden_config, read_config

    if hidden := hidden_config(name_or_path):
        click.echo(f"note: using the file {hidden!r} in this folder, not the shipped config of the same name", err=True)
    return read_config(name_or_path, settings)


def console() -> "Console":
    """Return the console to which a command prints."""
    from kernel_pipeline.cli.terminal import PlainConsole

    terminal = PlainConsole()
    # Files and batch logs have no width, so wide tables should not be wrapped there.
    return terminal if terminal.is_terminal else PlainConsole(width=160)
