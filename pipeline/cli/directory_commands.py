"""Commands that look after run directories."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernel_pipeline.cli.options import (
    console,
    data_option,
    directory_argument,
    open_storage,
    running_options,
    take_profile,
)

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage


@click.command()
@directory_argument
def status(directory: "Storage") -> None:
    """Show what is done in the run of DIRECTORY, and what is left and why."""
    from kernel_pipeline.cli.status import print_status

    print_status(console(), directory)


@click.command()
@directory_argument
@click.option("--repair", is_flag=True, help="Recompute only what is damaged.")
@data_option
@running_options
def verify(directory: "Storage", repair: bool, data_dir: Path | None, **running: Any) -> None:
    """Read every byte of a run, and name what is damaged, missing, swapped or foreign.

    The exit code is 0 if everything is as it was written or was repaired, and 4 otherwise.
    """
    from kernel_pipeline.cli.maintenance_view import print_repair, print_verification
    from kernel_pipeline.run.repair import repair_run, restore_run, verify_run

    if not repair:
        found = verify_run(directory)
        print_verification(console(), found)
        sys.exit(found.exit_code)
    profile = take_profile(running)
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.run.options import Options

    view = RunView(console())
    restore_run(directory, [view])
    result = repair_run(directory, data_dir, Options(profile, **running, owns_process=True), [view])
    print_repair(console(), result)
    sys.exit(result.exit_code)


@click.command()
@directory_argument
def unlock(directory: "Storage") -> None:
    """Remove the lock that a dead run left in DIRECTORY."""
    from kernel_pipeline.errors import RefusedError
    from kernel_pipeline.text import printable

    if not directory.exists():
        raise RefusedError(f"{directory} is not a run directory")
    held = directory.unlock()
    click.echo(printable(f"Unlocked; the lock was held by {held}." if held else f"{directory} is not locked."))


@click.command()
@click.argument("folder", type=open_storage, default="runs")
def runs(folder: "Storage") -> None:
    """List the runs in FOLDER (by default runs/) with state, size and age."""
    from kernel_pipeline.cli.maintenance_view import print_runs
    from kernel_pipeline.run.maintenance import list_runs

    print_runs(console(), str(folder), list_runs(folder))


@click.command()
@directory_argument
@click.option(
    "--keep",
    type=click.Choice(("results",)),
    default="results",
    hidden=True,  # the only choice, accepted since earlier versions required it
)
def clean(directory: "Storage", keep: str) -> None:
    """Remove the big arrays of a run: Gram matrices, combined kernels, copies of data.

    Tables, statistics, weights and the ledger are kept. If a later change needs the arrays, they are computed again.
    """
    from kernel_pipeline.cli.maintenance_view import print_cleaning
    from kernel_pipeline.run.maintenance import clean_run

    print_cleaning(console(), clean_run(directory))


COMMANDS = (status, verify, unlock, runs, clean)
