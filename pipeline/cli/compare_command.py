"""Define the command that compares a run with the paper or with another run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernel_pipeline.cli.options import console, directory_argument, open_storage
from kernel_pipeline.errors import StorageError

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage


@click.command()
@directory_argument
@click.argument("other", type=open_storage, required=False, metavar="[OTHER]")
@click.option("--paper", is_flag=True, help="Compare with Tables 1 to 5 of the paper.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of tables: one row per number or cell.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown instead of tables.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write CSV to FILE.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also write the report of DIRECTORY to FILE, with the comparison as a section.",
)
def compare(
    directory: "Storage",
    other: "Storage | None",
    paper: bool,
    as_csv: bool,
    as_markdown: bool,
    out: Path | None,
    report: Path | None,
) -> None:
    """Compare a run with another one, or with the paper.

    \b
    pipeline compare DIRECTORY --paper    the run's numbers beside those of the paper's Tables 1 to 5
    pipeline compare DIRECTORY OTHER      two runs: configs, cells, and means over the trials

    With --paper, datasets and methods are matched by the names in the shipped configs paper-gaussian and
    paper-sentiment. Differences of two runs are OTHER minus DIRECTORY. If a run is unfinished, only its finished
    cells are compared. The report of a run that covers numbers of the paper always includes the comparison with it.
    """
    if paper == (other is not None):
        raise click.UsageError("give either a second run directory or --paper")
    if as_csv and as_markdown:
        raise click.UsageError("give either --csv or --markdown")
    from kernel_pipeline.cli import compare_view
    from kernel_pipeline.results.writing import csv_content
    from kernel_pipeline.store.files import write_whole

    found = compare_view.with_paper(directory) if other is None else compare_view.two_runs(directory, other)
    content = csv_content(found.frame)
    if out is not None:
        try:
            write_whole(out, content, sync=False)
        except OSError as error:
            raise StorageError(f"cannot write {out}: {error.strerror}. Choose another file with --out") from None
    if report is not None:
        from kernel_pipeline.run.report import write_comparison

        write_comparison(directory, found.section(directory, other), report)
    for note in found.notes:
        click.echo(note, err=True)
    if as_csv:
        click.echo(content, nl=False)
    elif as_markdown:
        click.echo(found.markdown(), nl=False)
    else:
        found.print(console())
