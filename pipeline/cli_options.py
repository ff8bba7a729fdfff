"""What the commands share: arguments and options, and where they print."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster import CLUSTERS

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.root import Root


def place(address: str) -> "Root":
    """Open a folder, or s3://bucket/prefix; one that cannot be reached is refused before anything else is done."""
    from pipeline.address import open_root

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
workers_option = click.option("--workers", type=click.IntRange(min=1), help="How many; one a core without it.")
cluster_option = click.option(
    "--cluster", type=click.Choice(CLUSTERS), default="local", show_default=True, help="Where the work runs."
)
directory_argument = click.argument("directory", type=place)


def running_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of how to run, which change no result."""
    for option in (
        click.option("--retry-failed", is_flag=True, help="Try again what failed in an earlier run."),
        click.option("--fail-fast", is_flag=True, help="Stop at the first failure; else the rest goes on."),
        click.option(
            "--verify",
            type=click.Choice(("quick", "full")),
            default="quick",
            show_default=True,
            help="How to check what is done: quick looks at sizes and stored checksums, full reads every byte.",
        ),
        workers_option,
        cluster_option,
    ):
        command = option(command)
    return command


def console() -> "Console":
    """Where a command prints."""
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    terminal = Console()
    # A file or a batch log has no width; what is wide should not be folded there.
    return terminal if terminal.is_terminal else Console(width=160)
