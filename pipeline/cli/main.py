"""The command line. Nothing heavy is imported before a command needs it."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernel_pipeline import __version__
from kernel_pipeline.cli import directory_commands as cli_directories
from kernel_pipeline.cli.columns_command import columns
from kernel_pipeline.cli.options import (
    cluster_options,
    config_argument,
    console,
    data_option,
    directory_argument,
    load_config,
    resume_arguments,
    running_options,
    set_option,
    sweep_options,
    take_profile,
)
from kernel_pipeline.cli.output import tolerant_output
from kernel_pipeline.cluster.errors import ClusterError, LimitError
from kernel_pipeline.cluster.limits import starved
from kernel_pipeline.errors import InterruptedRunError, PipelineError, StorageError
from kernel_pipeline.run.interrupt import EXIT_CODE, STOPPED
from kernel_pipeline.text import printable

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Root

CONTEXT = {"help_option_names": ["-h", "--help"]}
ONLY_PRINTS = ("plan", "status", "runs", "configs", "clusters", "columns", "config")
"""Commands that have failed if their output cannot be written; the others do more than print."""


class Commands(click.Group):
    """Turns a user's mistake into one message and its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with tolerant_output() as output:
            result = self._invoke(ctx)
        if output.is_broken and ctx.invoked_subcommand in ONLY_PRINTS:
            ctx.exit(StorageError.exit_code)
        return result

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (PipelineError, ClusterError) as error:
            words = printable(str(error))
            click.echo(words if isinstance(error, InterruptedRunError) else f"Error: {words}", err=True)
            ctx.exit(error.exit_code)
        except (OSError, MemoryError, RuntimeError) as error:
            if names := starved(error):
                message = (
                    f"this process meets a limit of the system ({type(error).__name__}: {error}). Limits are: {names}"
                )
                click.echo(f"Error: {message}. Raise it; the same command goes on from here", err=True)
                ctx.exit(LimitError.exit_code)
            if not isinstance(error, OSError):
                if not isinstance(error.__cause__, KeyboardInterrupt):
                    raise
                click.echo(STOPPED, err=True)  # Python 3.11 wraps a Ctrl-C that comes while a class is made
                ctx.exit(EXIT_CODE)
            click.echo(printable(f"Error: {error.filename or 'a file'}: {error.strerror or error}"), err=True)
            ctx.exit(StorageError.exit_code)
        except KeyboardInterrupt:
            click.echo(STOPPED, err=True)
            ctx.exit(EXIT_CODE)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pipeline")
def main() -> None:
    """Learn kernels at scale: from a config file to result tables.

    \b
    pipeline run                     the default sweep
    pipeline run paper-gaussian --data-dir DIR
    pipeline plan CONFIG             what it would cost
    pipeline status DIR              how far a run is
    pipeline resume DIR              go on with it
    pipeline submit CONFIG --cluster slurm
    pipeline verify DIR              look for damage
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system's warning is taken like Ctrl-C


@main.command()
@sweep_options
def run(
    config: str | None,
    out: "Root | None",
    accept_changes: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Run a sweep, or go on with one.

    CONFIG is a file, or the name of a shipped config; without it the default sweep runs.
    """
    from kernel_pipeline.cluster import warm_up
    from kernel_pipeline.run.worker_modules import worker_modules

    profile = take_profile(running)
    parsed, folder = load_config(config, settings)
    warm_up(profile, worker_modules(parsed))
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.run.driver import Options
    from kernel_pipeline.run.sweeps import run_sweep

    options = Options(profile, **running, accept_changes=accept_changes)
    sys.exit(run_sweep(parsed, data_folder(data_dir, folder), out, options, console()))


@main.command()
@sweep_options
def submit(
    config: str | None,
    out: "Root | None",
    accept_changes: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Run a sweep as a job of Slurm, with its driver: log out, and look later.

    CONFIG is as for `run`; the cluster is a profile of Slurm (--cluster slurm).
    """
    again = resume_arguments(running)
    profile = take_profile(running)
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.run.driver import Options
    from kernel_pipeline.run.submission import submit_sweep

    parsed, folder = load_config(config, settings)
    options = Options(profile, **running, accept_changes=accept_changes)
    submit_sweep(parsed, data_folder(data_dir, folder), out, options, again, console())


@main.command()
@directory_argument
@running_options
@data_option
def resume(directory: "Root", data_dir: Path | None, **running: Any) -> None:
    """Go on with the run in DIRECTORY, which says itself what it is."""
    profile = take_profile(running)
    from kernel_pipeline.run.driver import Options
    from kernel_pipeline.run.sweeps import resume_sweep

    sys.exit(resume_sweep(directory, data_dir, Options(profile, **running), console()))


@main.command()
@config_argument
@cluster_options
@data_option
@set_option
def plan(
    config: str | None,
    cluster: str,
    workers: int | None,
    insecure: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
) -> None:
    """Say what would run and what it costs; start nothing."""
    from kernel_pipeline.cli.plan_view import print_job, print_plan
    from kernel_pipeline.cluster import released, worker_limits
    from kernel_pipeline.config.profiles import find_profile
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.data.prepared import load_samples
    from kernel_pipeline.plan.plan import make_plan
    from kernel_pipeline.run.directory import default_directory

    profile = find_profile(cluster, workers, insecure)
    click.get_current_context().with_resource(released(profile))
    parsed, folder = load_config(config, settings)
    where = data_folder(data_dir, folder)
    planned = make_plan(parsed, [load_samples(parsed, dataset, where).outline for dataset in parsed.dataset])
    count, limit = worker_limits(profile)
    print_plan(console(), planned, count, limit)
    print_job(console(), profile, default_directory(parsed))
    if limit is not None:
        planned.check_memory(limit, count)


@main.command()
def configs() -> None:
    """List the shipped configs."""
    from kernel_pipeline.config.loading import read_config, shipped_configs

    for name in shipped_configs():
        click.echo(f"{name:16} {read_config(name)[0].description}")


@main.command()
def clusters() -> None:
    """List the profiles of clusters, and say where your own go."""
    from kernel_pipeline.config.profiles import describe, known_profiles, profile_folder

    for name, file in known_profiles().items():
        click.echo(f"{name:16} {describe(file)}")
    click.echo(f"Your own go to {profile_folder()}, a TOML file each; one with the name of another comes before it.")


@main.group("config")
def config_group() -> None:
    """Print the resolved config, or the schema of configs."""


@config_group.command()
@config_argument
@set_option
def show(config: str | None, settings: tuple[str, ...]) -> None:
    """Print a config with every default filled in."""
    from kernel_pipeline.config.loading import to_toml

    click.echo(to_toml(load_config(config, settings)[0]), nl=False)


@config_group.command()
def schema() -> None:
    """Print the schema of configs, as JSON Schema: every key, its type, its default and what it means."""
    import json

    from kernel_pipeline.config.sweep import Config

    click.echo(json.dumps(Config.model_json_schema(), indent=2))


for command in (*cli_directories.COMMANDS, columns):
    main.add_command(command)
