"""Define the commands that fit a model of a run, predict targets with it, and export a combined kernel."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernel_pipeline.cli.options import directory_argument, stored_data_option
from kernel_pipeline.errors import StorageError
from kernel_pipeline.text import counted, printable

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage

TASKS = ("regression", "classification")
file_path = click.Path(dir_okay=False, path_type=Path)
repeat_option = click.option(
    "--repeat", type=click.IntRange(min=0), default=0, show_default=True, help="Repeat of the trial, numbered from 0."
)


@click.command()
@directory_argument
@click.option("--dataset", required=True, help="Name of the dataset.")
@click.option("--method", required=True, help="Name of the method, as in rows.csv.")
@click.option("--task", type=click.Choice(TASKS), help="Required if the dataset has both tasks.")
@click.option(
    "--out", required=True, type=file_path, metavar="FILE", help="New file of the model, such as model.skops."
)
@click.option(
    "--regularisation",
    type=click.FloatRange(min=0, min_open=True),
    multiple=True,
    help="Regularisation value; repeat the option for a method with several. Default: the median of the values that "
    "the trials chose, or, with --trial, the value that this trial chose.",
)
@click.option("--trial", type=click.IntRange(min=0), help="Fit on the training rows of a trial. Default: all rows.")
@repeat_option
@stored_data_option
def fit(
    directory: "Storage",
    dataset: str,
    method: str,
    task: str | None,
    out: Path,
    regularisation: tuple[float, ...],
    trial: int | None,
    repeat: int,
    data_dir: Path | None,
) -> None:
    """Fit a method of a run again on all rows of a dataset, and write the model.

    The file contains the encoder, the scaler, the kernels and the names of the labels, so that `pipeline predict` can
    read raw rows as in the source of the config. The data must be those of the run.
    """
    from kernel_pipeline.run.directory import check_new_file
    from kernel_pipeline.run.run_results import RunResults

    check_new_file(out)
    run = RunResults(directory, data_dir)
    model = run.model(dataset, method, task, regularisation=regularisation or None, trial=trial, repeat=repeat)
    model.save(out)
    facts = model.facts
    click.echo(
        printable(
            f"Wrote {out}: {facts.task} of {facts.dataset} by {facts.method}, fitted to {facts.samples:,} rows with "
            f"regularisation {facts.regularisation}."
        )
    )


@click.command()
@click.argument("model", type=file_path, metavar="MODEL")
@click.argument("rows", type=file_path, metavar="ROWS")
@click.option("--out", type=file_path, metavar="FILE", help="Write CSV to FILE, a new file. Default: print it.")
def predict(model: Path, rows: Path, out: Path | None) -> None:
    """Predict the targets of new rows with a model that `pipeline fit` wrote.

    ROWS is a file with rows as in the source of the config: the same columns, with or without the target. Its format
    is given by its extension (.csv, .parquet, ...), or else is that of the source. With source = "text", each line is
    one document, without a label. The output has one line per row: its number from 0, its
    value in the index column of the config if ROWS has this column, the prediction, and decision values.
    """
    from kernel_pipeline.models.model_file import load_model
    from kernel_pipeline.models.reading import read_rows
    from kernel_pipeline.results.writing import csv_content
    from kernel_pipeline.run.directory import check_new_file
    from kernel_pipeline.store.files import write_whole

    if out is not None:
        check_new_file(out)
    loaded = load_model(model)
    encoded = read_rows(loaded, rows)
    table = loaded.outputs.frame(loaded.values_of(encoded))
    table.insert(0, "row", range(len(table)))
    if encoded.index is not None and encoded.index.name not in table:
        table.insert(1, str(encoded.index.name), encoded.index)
    content = csv_content(table)
    notes = list(encoded.notes)
    if dropped := int((~encoded.usable).sum()):
        notes.append(
            f"{dropped:,} of {len(table):,} rows have no prediction: they have missing values, and the config has "
            "missing = 'drop'"
        )
    for note in notes:
        click.echo(printable(f"note: {note}"), err=True)
    if out is None:
        click.echo(content, nl=False)
        return
    try:
        write_whole(out, content, sync=False)
    except OSError as error:
        raise StorageError(f"cannot write {out}: {error.strerror}. Choose another file with --out") from None
    click.echo(printable(f"Wrote {out}: predictions of {counted(len(table), 'row')}."))


@click.command()
@directory_argument
@click.option("--dataset", required=True, help="Name of the dataset.")
@click.option("--method", required=True, help="Name of the method, as in rows.csv.")
@click.option("--task", type=click.Choice(TASKS), help="Required if the dataset has both tasks.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A new .npy or .zarr file.")
@click.option(
    "--trial", type=click.IntRange(min=0), help="Use the weights of a trial. Default: weights learned on all rows."
)
@repeat_option
@stored_data_option
def export(
    directory: "Storage",
    dataset: str,
    method: str,
    task: str | None,
    out: Path,
    trial: int | None,
    repeat: int,
    data_dir: Path | None,
) -> None:
    """Write the combined kernel of a method, with the order of its rows.

    The kernel is sum_k mu_k K_k / trace_k of all rows of a dataset, not centered, in the order of the source; trace_k
    is the trace of the centered K_k on the rows on which the weights were learned. NAME.npy comes with NAME.rows.npy,
    the numbers of the rows in the source; NAME.zarr contains the arrays kernel and rows.
    """
    from kernel_pipeline.run.kernel_export import check_target, export_kernel
    from kernel_pipeline.run.run_results import RunResults

    check_target(out)
    kernel = RunResults(directory, data_dir).combined(dataset, method, task, trial, repeat)
    written = export_kernel(kernel, out)
    rows = len(kernel.rows)
    click.echo(printable(f"Wrote {' and '.join(map(str, written))}: {method} of {dataset}, {rows:,} x {rows:,}."))


COMMANDS = (fit, predict, export)
