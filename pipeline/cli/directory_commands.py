"""Define the commands that inspect and maintain run directories."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernel_pipeline.cli.options import (
    console,
    directory_argument,
    open_storage,
    running_options,
    stored_data_option,
    take_profile,
)
from kernel_pipeline.cli.stopping import WATCH, end_process

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage


@click.command()
@directory_argument
@click.option(WATCH, is_flag=True, help="Update the display until the run ends, with rates and results so far.")
def status(directory: "Storage", watch: bool) -> None:
    """Show which tasks of a run are finished, and why the others are not."""
    if watch:
        from kernel_pipeline.cli.watch_view import wait_for_run, watch_status

        wait_for_run(console(), directory)
        watch_status(console(), directory)
    else:
        from kernel_pipeline.cli.status import print_status

        print_status(console(), directory)


@click.command()
@directory_argument
@click.option("--open", "open_browser", is_flag=True, help="Open the report in a browser.")
@click.option(WATCH, is_flag=True, help="Write the report again every 10 s until the run ends; the page reloads.")
def report(directory: "Storage", open_browser: bool, watch: bool) -> None:
    """Write the report of a run, report.html.

    A finished run already has this file. For a run that is running or was stopped, the report shows the results so far,
    and states what is missing.
    """
    from kernel_pipeline.cli.report_view import open_report, print_report
    from kernel_pipeline.run.report import write_report

    if watch:
        from kernel_pipeline.cli.watch_view import wait_for_run

        wait_for_run(console(), directory)
    written = write_report(directory, is_watched=watch)
    print_report(console(), written)
    if open_browser:
        open_report(console(), written)
    if watch and not written.is_complete:
        from kernel_pipeline.cli.watch_view import watch_report

        watch_report(console(), directory)


@click.command()
@directory_argument
@click.option("--repair", is_flag=True, help="Recompute what is damaged, missing or swapped.")
@stored_data_option
@running_options
def verify(directory: "Storage", repair: bool, data_dir: Path | None, **running: Any) -> None:
    """Check every byte of a run.

    Files that are damaged, missing, swapped with others or not part of the run are listed. The exit code is 0 if there
    are none, and 4 otherwise. Tasks that a resumed run would recompute, because the config, the data or an algorithm
    has changed, are counted, but are not problems. With --repair, the exit code is 0 if everything was repaired, and 3
    if a recomputed task failed; files that are not part of the run are left in place. The other options apply to
    --repair only.
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
    result = repair_run(directory, data_dir, Options(profile, **running, end_process=end_process), [view])
    print_repair(console(), result)
    sys.exit(result.exit_code)


@click.command()
@directory_argument
def unlock(directory: "Storage") -> None:
    """Remove the lock of a run that is no longer running."""
    from kernel_pipeline.run.manifest import no_run_directory
    from kernel_pipeline.text import printable

    if not directory.exists():
        raise no_run_directory(directory)
    held = directory.unlock()
    click.echo(printable(f"Unlocked; the lock was held by {held}." if held else f"{directory} is not locked."))


@click.command()
@click.argument("folder", type=open_storage, default="runs")
def runs(folder: "Storage") -> None:
    """List runs with state, size and age.

    FOLDER contains the run directories. Default: runs.
    """
    from kernel_pipeline.cli.maintenance_view import print_runs
    from kernel_pipeline.run.maintenance import list_runs

    print_runs(console(), str(folder), list_runs(folder))


@click.command()
@directory_argument
@click.option(
    "--keep",
    type=click.Choice(("results",)),
    default="results",
    hidden=True,  # it has one choice, and is accepted because earlier versions required it
)
def clean(directory: "Storage", keep: str) -> None:
    """Remove the large arrays of a finished run.

    These are the Gram matrices, the combined kernels and the copies of the data. Tables, statistics, weights and the
    ledger are kept. If a later change needs the arrays, they are computed again.
    """
    from kernel_pipeline.cli.maintenance_view import print_cleaning
    from kernel_pipeline.run.maintenance import clean_run

    print_cleaning(console(), clean_run(directory))


COMMANDS = (status, report, verify, unlock, runs, clean)
