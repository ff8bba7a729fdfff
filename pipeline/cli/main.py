"""The command line. Heavy modules are imported only by the commands that need them."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

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
    from kernel_pipeline.run.sweeps import Outcome
    from kernel_pipeline.store.storage import Storage

CONTEXT = {"help_option_names": ["-h", "--help"]}
ONLY_PRINTS = ("plan", "status", "runs", "configs", "clusters", "columns", "config")
"""Commands that fail if their output cannot be written; the others do more than print."""


class Commands(click.Group):
    """Show an error of the user as one message, with its exit code."""

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
                message = f"this process hit a system limit ({type(error).__name__}: {error}). The limits are: {names}"
                click.echo(f"Error: {message}. Raise them; the same command continues from here", err=True)
                ctx.exit(LimitError.exit_code)
            if not isinstance(error, OSError):
                if not isinstance(error.__cause__, KeyboardInterrupt):
                    raise
                click.echo(STOPPED, err=True)  # Python 3.11 wraps a Ctrl-C that comes during the creation of a class
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
    pipeline run                     run the default sweep
    pipeline run paper-gaussian --data-dir DIR
    pipeline plan CONFIG             show what a sweep would cost
    pipeline status DIR              show what is done and what is left
    pipeline resume DIR              continue a run
    pipeline submit CONFIG --cluster slurm
    pipeline verify DIR              check a run for damage
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the warning of a batch system acts like Ctrl-C


@main.command()
@sweep_options
def run(
    config: str | None,
    out: "Storage | None",
    accept_changes: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Run a sweep, or resume it.

    CONFIG is a file, or the name of a shipped config. Without it, the default sweep runs.
    """
    from kernel_pipeline.cluster import warm_up
    from kernel_pipeline.run.worker_modules import worker_modules

    profile = take_profile(running)
    parsed, folder = load_config(config, settings)
    warm_up(profile, worker_modules(parsed))  # before the imports that follow, which take some seconds as well
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.run.options import Options
    from kernel_pipeline.run.sweeps import run_sweep

    options = Options(profile, **running, accept_changes=accept_changes, owns_process=True)
    view = RunView(console(), config or "default")
    _finish(run_sweep(parsed, data_folder(data_dir, folder), out, options, [view]))


def _finish(outcome: "Outcome") -> NoReturn:
    """Print the outcome of a run, and exit with its code."""
    from kernel_pipeline.cli.run_view import print_outcome

    print_outcome(console(), outcome)
    sys.exit(outcome.exit_code)


@main.command()
@sweep_options
def submit(
    config: str | None,
    out: "Storage | None",
    accept_changes: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Submit a sweep as a Slurm job that includes its driver, and return.

    CONFIG is as for `run`; the cluster is a Slurm profile (--cluster slurm).
    """
    again = resume_arguments(running)
    profile = take_profile(running)
    from kernel_pipeline.cli.maintenance_view import print_submission
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.run.options import Options
    from kernel_pipeline.run.submission import submit_sweep

    parsed, folder = load_config(config, settings)
    options = Options(profile, **running, accept_changes=accept_changes)
    view = RunView(console(), config or "default")
    print_submission(console(), submit_sweep(parsed, data_folder(data_dir, folder), out, options, again, [view]))


@main.command()
@directory_argument
@running_options
@data_option
def resume(directory: "Storage", data_dir: Path | None, **running: Any) -> None:
    """Resume the run in DIRECTORY; the config is read from there."""
    profile = take_profile(running)
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.run.options import Options
    from kernel_pipeline.run.sweeps import resume_sweep

    options = Options(profile, **running, owns_process=True)
    _finish(resume_sweep(directory, data_dir, options, [RunView(console())]))


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
    """Show what would run and what it would cost, without starting anything."""
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
    planned = make_plan(parsed, [load_samples(parsed, dataset, where).info for dataset in parsed.dataset])
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
    """List the cluster profiles, and the folder for your own."""
    from kernel_pipeline.config.profiles import describe, known_profiles, profile_folder

    for name, file in known_profiles().items():
        click.echo(f"{name:16} {describe(file)}")
    click.echo(f"Put your own profiles into {profile_folder()}, one TOML file each; they take precedence.")


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
    """Print the JSON Schema of configs: every key, its type, its default and its meaning."""
    import json

    from kernel_pipeline.config.sweep import Config

    click.echo(json.dumps(Config.model_json_schema(), indent=2))


for command in (*cli_directories.COMMANDS, columns):
    main.add_command(command)
