"""The command line. Nothing heavy is imported before a command needs it."""

import io
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster import CLUSTERS
from pipeline import __version__
from pipeline.errors import PipelineError

if TYPE_CHECKING:
    from rich.console import Console

INTERRUPTED = 130
CONTEXT = {"help_option_names": ["-h", "--help"]}

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


class Commands(click.Group):
    """Turns a user's mistake into one message and its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except PipelineError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("Stopped. The same command goes on from here.", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pipeline")
def main() -> None:
    """Learn kernels at scale: from a config file to result tables.

    \b
    pipeline run                     the default sweep
    pipeline run paper-gaussian --data-dir DIR
    pipeline plan CONFIG             what it would cost
    pipeline status DIR              how far a run is
    """


@main.command()
@config_argument
@cluster_option
@workers_option
@click.option("--out", type=click.Path(path_type=Path), help="The run directory; runs/NAME-HASH without it.")
@data_option
@set_option
def run(
    config: str | None,
    cluster: str,
    workers: int | None,
    out: Path | None,
    data_dir: Path | None,
    settings: tuple[str, ...],
) -> None:
    """Run a sweep, or go on with one.

    CONFIG is a file, or the name of a shipped config; without it the default sweep runs.
    """
    from cluster import warm_up
    from pipeline.config_file import read_config
    from pipeline.worker_modules import worker_modules

    # A batch system's warning is taken like Ctrl-C: workers are stopped, and what is done stays done.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parsed, folder = read_config(config, settings)
    warm_up(cluster, worker_modules(parsed))
    from pipeline.run import run_sweep
    from pipeline.sources import data_folder

    sys.exit(run_sweep(parsed, data_folder(data_dir, folder), out, cluster, workers, _console()))


@main.command()
@config_argument
@cluster_option
@workers_option
@data_option
@set_option
def plan(
    config: str | None, cluster: str, workers: int | None, data_dir: Path | None, settings: tuple[str, ...]
) -> None:
    """Say what would run and what it costs; start nothing."""
    from cluster import worker_limits
    from pipeline.config_file import read_config
    from pipeline.plan import make_plan
    from pipeline.plan_view import print_plan
    from pipeline.samples import load_samples
    from pipeline.sources import data_folder

    parsed, folder = read_config(config, settings)
    where = data_folder(data_dir, folder)
    planned = make_plan(parsed, [load_samples(parsed, dataset, where) for dataset in parsed.dataset])
    count, limit = worker_limits(cluster, workers)
    print_plan(_console(), planned, count, limit)
    planned.check_memory(limit, count)


@main.command()
@click.argument("directory", type=click.Path(path_type=Path))
def status(directory: Path) -> None:
    """Say how far a run is, from its directory alone."""
    from pipeline.status import print_status

    print_status(_console(), directory)


@main.command()
def configs() -> None:
    """List the shipped configs."""
    from pipeline.config_file import read_config, shipped_configs

    for name in shipped_configs():
        click.echo(f"{name:16} {read_config(name)[0].description}")


@main.group("config")
def config_group() -> None:
    """Print the resolved config, or the schema of configs."""


@config_group.command()
@config_argument
@set_option
def show(config: str | None, settings: tuple[str, ...]) -> None:
    """Print a config with every default filled in."""
    from pipeline.config_file import read_config, to_toml

    click.echo(to_toml(read_config(config, settings)[0]), nl=False)


@config_group.command()
def schema() -> None:
    """Print the schema of configs, as JSON Schema: every key, its type, its default and what it means."""
    import json

    from pipeline.config import Config

    click.echo(json.dumps(Config.model_json_schema(), indent=2))


def _console() -> "Console":
    from rich.console import Console

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    console = Console()
    # A file or a batch log has no width; what is wide should not be folded there.
    return console if console.is_terminal else Console(width=160)
