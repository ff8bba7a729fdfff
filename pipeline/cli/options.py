"""What the commands share: arguments and options, and where they print."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from kernel_pipeline.cluster.profile import Profile
    from kernel_pipeline.config.sweep import Config
    from kernel_pipeline.store.storage import Root


def place(address: str) -> "Root":
    """Open a folder, or s3://bucket/prefix; one that cannot be reached is refused before anything else is done."""
    from kernel_pipeline.store.addresses import open_root

    return open_root(address)


config_argument = click.argument("config", required=False)
data_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where relative paths of data files start; else PIPELINE_DATA_DIR, else the config's folder.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value of the config: protocol.folds=3, dataset.NAME.rows=200. May be repeated.",
)
directory_argument = click.argument("directory", type=place)


def cluster_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of where to run."""
    for option in (
        click.option("--insecure", is_flag=True, help="Allow connections without TLS, in a network that you trust."),
        click.option("--workers", type=click.IntRange(min=1), help="How many; without it as the profile says."),
        click.option(
            "--cluster",
            default="local",
            show_default=True,
            help="Where the work runs: a profile (`pipeline clusters`), a scheduler's address or its file.",
        ),
    ):
        command = option(command)
    return command


def running_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of how to run, which change no result."""
    for option in (
        click.option("--dashboard", is_flag=True, help="Serve Dask's dashboard, to every user of the driver's host."),
        click.option("--retry-failed", is_flag=True, help="Try again what failed in an earlier run."),
        click.option("--fail-fast", is_flag=True, help="Stop at the first failure; else the rest goes on."),
        click.option(
            "--verify",
            type=click.Choice(("quick", "full")),
            default="quick",
            show_default=True,
            help="How to check what is done: quick looks at sizes and stored checksums, full reads every byte.",
        ),
    ):
        command = option(command)
    return cluster_options(command)


def sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    """What a command that begins a sweep takes: which, where to, and how."""
    for option in (
        set_option,
        data_option,
        click.option("--accept-changes", is_flag=True, help="Go on in --out with a changed config or changed data."),
        click.option("--out", type=place, help="The run directory, or s3://BUCKET/PREFIX; runs/NAME-HASH without it."),
        running_options,
        config_argument,
    ):
        command = option(command)
    return command


def resume_arguments(running: dict[str, Any]) -> list[str]:
    """The running options as `pipeline resume` takes them, in any working directory."""
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
    """The profile that the running options name, which leaves the others; of many processes of MPI one comes back."""
    from kernel_pipeline.cluster import assume_role, released
    from kernel_pipeline.config.profiles import find_profile

    profile = find_profile(*(running.pop(name) for name in ("cluster", "workers", "insecure", "dashboard")))
    assume_role(profile)
    click.get_current_context().with_resource(released(profile))
    return profile


def load_config(name_or_path: str | None, settings: Sequence[str]) -> "tuple[Config, Path]":
    """Read a config as `read_config` does; a file that hides a shipped config is said."""
    from kernel_pipeline.config.loading import hidden_config, read_config

    if hidden := hidden_config(name_or_path):
        click.echo(f"note: {hidden!r} is the file of that name in this folder, not the shipped config", err=True)
    return read_config(name_or_path, settings)


def console() -> "Console":
    """Where a command prints."""
    from kernel_pipeline.cli.terminal import PlainConsole

    terminal = PlainConsole()
    # A file or a batch log has no width; what is wide should not be folded there.
    return terminal if terminal.is_terminal else PlainConsole(width=160)
