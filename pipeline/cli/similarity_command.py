"""Define the command that compares representations of the same samples by the alignments of their kernels."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernel_pipeline.errors import DataError, PipelineError, StorageError
from kernel_pipeline.text import printable

if TYPE_CHECKING:
    import pandas as pd

    from kernel_pipeline.data.view_files import ViewTable

ARRAYS = (".npy", ".zarr")
MIN_VIEWS = 2
NAMES = "view"
"""Column of the table with the names of the views."""
MAX_FIGURE_VIEWS = 100
"""Maximum number of views for which a heat map is drawn."""


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILES...")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder for the table and the heat map.",
)
@click.option(
    "--kernel",
    metavar="FAMILY",
    help='Kernel family: a name, or a table as in a config, such as \'{ family = "gaussian", gamma = "median" }\'. '
    "Default: linear.",
)
@click.option("--biased", is_flag=True, help="Compute plain centered alignments. Default: debiased ones.")
@click.option("--tile-size", type=click.IntRange(min=1), help="Number of samples per tile. Default: automatic.")
def similarity(files: tuple[Path, ...], out: Path, kernel: str | None, biased: bool, tile_size: int | None) -> None:
    """Compute the centered alignments (CKA) of all pairs of views of the same samples.

    Each of the two or more files is a view with one row per sample, in the same order: an array in a .npy or .zarr
    file, of which only tiles are read, or a table of numbers (.csv, .tsv, .parquet, .feather). The separator of a .csv
    file (comma, semicolon, tab or |) and its header are detected; numbers must have decimal points. Views are named
    after their files. The alignments are written to similarity.csv in DIR; those of up to 100 views also as a heat map
    to similarity.svg and similarity.png. The debiased alignments of independent views are around 0.
    """
    from kernel_pipeline.estimators.similarity import kernel_similarity

    paths = _named(files)
    views = {name: _view(path) for name, path in paths.items()}
    for note in [note for view in views.values() if not isinstance(view, Path) for note in view.remarks]:
        click.echo(printable(f"note: {note}"), err=True)
    given = {name: view if isinstance(view, Path) else view.frame for name, view in views.items()}
    try:
        _check_samples(views)
        found = kernel_similarity(given, kernel=_family(kernel), debiased=not biased, tile_size=tile_size)
    except (ValueError, OSError) as error:
        message = str(error)
        for name, path in paths.items():
            message = message.replace(f"views[{name!r}]", str(path))
        raise DataError(message) from None
    written = _write(found, out)
    click.echo(found.to_string(float_format=lambda value: f"{value:.3f}", na_rep=""))
    click.echo(printable(f"Wrote {', '.join(written)} to {out}."), err=True)


def _named(files: tuple[Path, ...]) -> dict[str, Path]:
    """Return the files by the names of their views."""
    if len(files) < MIN_VIEWS:
        raise PipelineError(f"FILES: got only {files[0]}; give at least two files, whose samples are the same")
    named = {path.name.removesuffix(path.suffix): path for path in files}
    if len(named) < len(files):
        given = ", ".join(path.name for path in files)
        raise PipelineError(
            f"FILES: views are named after their files, so the names without extension must differ; got {given}"
        )
    if NAMES in named:
        raise PipelineError(
            f"FILES: {named[NAMES]} cannot be a view, since {NAMES!r} is the name of a column of similarity.csv; "
            "rename the file"
        )
    return named


def _view(path: Path) -> "Path | ViewTable":
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.suffix in ARRAYS:
        return path
    from kernel_pipeline.data.view_files import read_view, view_extensions

    if path.suffix not in (known := (*ARRAYS, *view_extensions())):
        raise DataError(f"{path} has an unknown extension; files of views end in {', '.join(known)}")
    return read_view(path)


def _check_samples(views: "Mapping[str, Path | ViewTable]") -> None:
    """Raise a `DataError` with the likely cause if the views have different numbers of samples."""
    from kernel_pipeline.estimators.similarity_sources import open_source

    sizes = {
        name: open_source(f"views[{name!r}]", view).shape[0] if isinstance(view, Path) else len(view.frame)
        for name, view in views.items()
    }
    if len(set(sizes.values())) == 1:
        return
    listed = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
    causes = [view.first_line for view in views.values() if not isinstance(view, Path) and view.first_line]
    hint = f". Possible cause: {'; '.join(causes)}; a header is best a line of names that are not numbers"
    raise DataError(f"FILES: the views must have the same number of samples; {listed}{hint if causes else ''}")


def _family(text: str | None) -> dict[str, Any] | None:
    """Return the table of a family, given its name or the table as TOML."""
    import tomllib

    if text is None or not text.strip().startswith("{"):
        return None if text is None else {"family": text}
    try:
        return dict(tomllib.loads(f"kernel = {text}")["kernel"])
    except (tomllib.TOMLDecodeError, ValueError, TypeError) as error:
        raise PipelineError(f"--kernel: {text!r} is not a TOML table: {error}") from None


def _write(found: "pd.DataFrame", out: Path) -> list[str]:
    """Write the table and, if there is one, the heat map; return the names of the files."""
    from kernel_pipeline.results.figures.kernel_alignments import draw_alignments
    from kernel_pipeline.results.figures.rendering import png_bytes, svg_bytes
    from kernel_pipeline.results.figures.style import style
    from kernel_pipeline.results.writing import csv_content
    from kernel_pipeline.store.files import write_whole

    contents = {"similarity.csv": csv_content(found.rename_axis(NAMES).reset_index())}
    if len(found) <= MAX_FIGURE_VIEWS and found.notna().any(axis=None):
        with style():
            image = draw_alignments([str(name) for name in found.index], found.to_numpy())
            contents |= {"similarity.svg": svg_bytes(image), "similarity.png": png_bytes(image)}
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_whole(out / name, content, sync=False)
    except OSError as error:
        raise StorageError(f"cannot write to {out}: {error.strerror}. Choose another folder with --out") from None
    return list(contents)
