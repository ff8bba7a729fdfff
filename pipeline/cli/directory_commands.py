"""The commands that look after run directories."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernel_pipeline.cli.options import console, data_option, directory_argument, place, running_options, take_profile

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Root


@click.command()
@directory_argument
def status(directory: "Root") -> None:
    """Say what is done in a run, what is left and why, from its directory alone."""
    from kernel_pipeline.cli.status import print_status

    print_status(console(), directory)


@click.command()
@directory_argument
@click.option("--repair", is_flag=True, help="Compute again what is damaged, and only that.")
@data_option
@running_options
def verify(directory: "Root", repair: bool, data_dir: Path | None, **running: Any) -> None:
    """Read every byte of a run; name what is damaged, missing, swapped or foreign.

    Exits with 0 if all is well, and with 4 if something is not and was not repaired.
    """
    from kernel_pipeline.run.repair import repair_run, restore_run, verify_run

    if not repair:
        sys.exit(verify_run(directory, console()))
    profile = take_profile(running)
    restore_run(directory, console())
    from kernel_pipeline.run.driver import Options

    sys.exit(repair_run(directory, data_dir, Options(profile, **running), console()))


@click.command()
@directory_argument
def unlock(directory: "Root") -> None:
    """Remove the lock that a dead run left in DIRECTORY."""
    from kernel_pipeline.errors import RefusedError
    from kernel_pipeline.text import printable

    if not directory.is_there():
        raise RefusedError(f"{directory} is not a run directory")
    held = directory.unlock()
    click.echo(printable(f"Unlocked; it was held by {held}." if held else f"{directory} is not locked."))


@click.command()
@click.argument("folder", type=place, default="runs")
def runs(folder: "Root") -> None:
    """List the runs in FOLDER (runs/ without it): state, size and age."""
    from kernel_pipeline.run.maintenance import print_runs

    print_runs(console(), folder)


@click.command()
@directory_argument
@click.option("--keep", type=click.Choice(("results",)), required=True, help="What stays; the big arrays go.")
def clean(directory: "Root", keep: str) -> None:
    """Free the big arrays of a run: Gram matrices, combined kernels, copies of data.

    Tables, statistics, weights and the ledger stay. What a later change needs of the rest is computed again.
    """
    from kernel_pipeline.run.maintenance import clean_run

    clean_run(console(), directory)


COMMANDS = (status, verify, unlock, runs, clean)
