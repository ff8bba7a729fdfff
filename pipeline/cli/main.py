"""Define the command line. Modules that are slow to import are imported only by the commands that need them."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kernel_pipeline import __version__
from kernel_pipeline.cli.columns_command import columns
from kernel_pipeline.cli.compare_command import compare
from kernel_pipeline.cli.directory_commands import COMMANDS as DIRECTORY_COMMANDS
from kernel_pipeline.cli.model_commands import COMMANDS as MODEL_COMMANDS
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
    stored_data_option,
    sweep_options,
    take_profile,
)
from kernel_pipeline.cli.output import tolerant_output
from kernel_pipeline.cli.similarity_command import similarity
from kernel_pipeline.cli.stopping import end_process, report_stop
from kernel_pipeline.cluster.errors import ClusterError, LimitError
from kernel_pipeline.cluster.limits import suspected_limits
from kernel_pipeline.errors import InterruptedRunError, PipelineError, StorageError
from kernel_pipeline.text import printable

if TYPE_CHECKING:
    from kernel_pipeline.run.sweeps import Outcome
    from kernel_pipeline.store.storage import Storage

ARGUMENTS = "kernel_pipeline.arguments"
"""Key of the arguments of the command in the context."""
CONTEXT = {"help_option_names": ["-h", "--help"]}
PRINTING_COMMANDS = ("plan", "status", "runs", "configs", "clusters", "columns", "config", "compare", "predict")
"""Commands that only print, and therefore fail if their output cannot be written."""


class Commands(click.Group):
    """Command group that shows errors as one message without a traceback, and exits with their code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and keep a copy for the case that the command is interrupted."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and report its errors."""
        with tolerant_output() as output:
            result = self._invoke(ctx)
        if output.is_broken and ctx.invoked_subcommand in PRINTING_COMMANDS:
            ctx.exit(StorageError.exit_code)
        return result

    def _invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (PipelineError, ClusterError) as error:
            message = printable(str(error))
            click.echo(message if isinstance(error, InterruptedRunError) else f"Error: {message}", err=True)
            ctx.exit(error.exit_code)
        except (OSError, MemoryError, RuntimeError) as error:
            if names := suspected_limits(error):
                message = f"this process hit a system limit ({type(error).__name__}: {error}). The limits are: {names}"
                click.echo(f"Error: {message}. Raise them; the same command resumes the run", err=True)
                ctx.exit(LimitError.exit_code)
            if not isinstance(error, OSError):
                if not isinstance(error.__cause__, KeyboardInterrupt):
                    raise
                # Python 3.11 wraps a Ctrl-C that occurs while a class is created.
                ctx.exit(report_stop(ctx.meta[ARGUMENTS]))
            click.echo(printable(f"Error: {error.filename or 'a file'}: {error.strerror or error}"), err=True)
            ctx.exit(StorageError.exit_code)
        except KeyboardInterrupt:
            ctx.exit(report_stop(ctx.meta[ARGUMENTS]))


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="pipeline")
def main() -> None:
    """Learn kernels at scale: from a config file to result tables.

    \b
    pipeline run                     run the default sweep
    pipeline run CONFIG --out DIR    run your own config in a directory
    pipeline plan CONFIG             show the tasks, disk, memory and time of a sweep
    pipeline status DIR              show which tasks are finished and which are left
    pipeline report DIR --open       show the results in a browser
    pipeline compare DIR --paper     show the results beside those of the paper
    pipeline resume DIR              resume a run
    pipeline submit CONFIG --cluster slurm
    pipeline verify DIR              check a run for damage
    pipeline fit DIR --dataset D --method M --out model.skops
    pipeline predict model.skops new.csv
    pipeline export DIR --dataset D --method M --out kernel.npy
    pipeline similarity FILES... --out DIR
    """
    # Batch systems send SIGTERM before they end a job; it is handled like Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@main.command()
@sweep_options
def run(
    config: str | None,
    out: "Storage | None",
    accept_changes: bool,
    skip_too_large: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Run a sweep, or resume it if its directory exists.

    CONFIG is a TOML file, or the name of a shipped config (`pipeline configs`). Without it, the default
    sweep is run.
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

    running |= {"accept_changes": accept_changes, "skip_too_large": skip_too_large}
    options = Options(profile, **running, end_process=end_process)
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
    skip_too_large: bool,
    data_dir: Path | None,
    settings: tuple[str, ...],
    **running: Any,
) -> None:
    """Run a sweep with its driver in a Slurm job.

    The command returns once the job is submitted. CONFIG is as for `run`. Use a Slurm profile (--cluster slurm).
    """
    resume_options = resume_arguments(running)
    profile = take_profile(running)
    from kernel_pipeline.cli.maintenance_view import print_submission
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.run.options import Options
    from kernel_pipeline.run.submission import submit_sweep

    parsed, folder = load_config(config, settings)
    options = Options(profile, **running, accept_changes=accept_changes, skip_too_large=skip_too_large)
    view = RunView(console(), config or "default")
    submission = submit_sweep(parsed, data_folder(data_dir, folder), out, options, resume_options, [view])
    print_submission(console(), submission)


@main.command()
@directory_argument
@running_options
@stored_data_option
def resume(directory: "Storage", data_dir: Path | None, **running: Any) -> None:
    """Resume a run with the config in its directory."""
    profile = take_profile(running)
    from kernel_pipeline.cli.run_view import RunView
    from kernel_pipeline.run.options import Options
    from kernel_pipeline.run.sweeps import resume_sweep

    options = Options(profile, **running, end_process=end_process)
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
    """Show the tasks, disk, memory and estimated time of a sweep.

    Nothing is run, except for half a second of calculations that measure the speed of this machine. For batch
    systems, the job script is printed too. CONFIG is as for `run`.
    """
    from kernel_pipeline.cli.plan_view import print_job, print_plan
    from kernel_pipeline.cluster import released, worker_limits
    from kernel_pipeline.config.profiles import find_profile
    from kernel_pipeline.data.data_directory import data_folder
    from kernel_pipeline.data.prepared import prepare_dataset
    from kernel_pipeline.plan.calibration import measure_rates
    from kernel_pipeline.plan.plan import make_plan
    from kernel_pipeline.run.directory import default_directory
    from kernel_pipeline.store.local_storage import LocalStorage

    profile = find_profile(cluster, workers, insecure)
    click.get_current_context().with_resource(released(profile))
    parsed, folder = load_config(config, settings)
    where = data_folder(data_dir, folder)
    planned = make_plan(parsed, [prepare_dataset(parsed, dataset, where).info for dataset in parsed.dataset])
    count, limit = worker_limits(profile)
    root = default_directory(parsed)
    print_plan(console(), planned, count, limit, LocalStorage(root).free_bytes(), measure_rates())
    print_job(console(), profile, root)
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
    """List the cluster profiles and the folder for your own."""
    from kernel_pipeline.config.profiles import describe, known_profiles, profile_folder

    for name, file in known_profiles().items():
        click.echo(f"{name:16} {describe(file)}")
    click.echo(f"Put your own profiles into {profile_folder()}, one TOML file each; they take precedence.")


@main.group("config")
def config_group() -> None:
    """Print a resolved config, or the schema of configs."""


@config_group.command()
@config_argument
@set_option
def show(config: str | None, settings: tuple[str, ...]) -> None:
    """Print a config with every default filled in."""
    from kernel_pipeline.config.loading import to_toml

    click.echo(to_toml(load_config(config, settings)[0]), nl=False)


@config_group.command()
def schema() -> None:
    """Print the JSON Schema of configs.

    The schema contains the type, the default and the meaning of every key.
    """
    import json

    from kernel_pipeline.config.sweep import Config

    click.echo(json.dumps(Config.model_json_schema(), indent=2))


for command in (*DIRECTORY_COMMANDS, columns, compare, *MODEL_COMMANDS, similarity):
    main.add_command(command)
