"""Choose and check the directory of a run."""

from pathlib import Path

from kernel_pipeline.config.loading import config_digest
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import CHOOSE_DIRECTORY, PipelineError, RefusedError
from kernel_pipeline.store.files import PARTIAL
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import CONFIG, LEDGER, LOCK
from kernel_pipeline.store.storage import Storage


def default_directory(config: Config) -> Path:
    """Return the default directory of a sweep, which depends only on its config."""
    return Path("runs") / f"{config.name}-{config_digest(config)}"


def check_directory(root: Storage) -> None:
    """Reject a directory that is not empty and not a run directory, or that cannot be written to.

    The check leaves nothing in the directory.
    """
    root.check_usable()
    if not is_run_directory(root) and any(map(_is_foreign, root.names())):
        raise RefusedError(f"{root} is not empty and is not a run directory. {CHOOSE_DIRECTORY}")


def is_run_directory(root: Storage) -> bool:
    """Return whether a run was started in a directory: it has a config, or a ledger with at least one line."""
    return root.exists(CONFIG) or root.journal().has_lines()


def run_directory_around(path: Path) -> Path | None:
    """Return the run directory that contains a local path; None if there is none.

    Only directories with a ledger are considered, since a folder may contain a config.toml of the user.
    """
    return next((folder for folder in path.parents if LocalStorage(folder).journal().has_lines()), None)


def check_new_file(path: Path) -> None:
    """Check the file that the option --out of a command names: it must not exist, nor be inside of a run directory.

    Raises
    ------
    PipelineError
        If it exists, or is inside of a run directory, whose files only the run itself may write.
    """
    if (run := run_directory_around(path.resolve())) is not None:
        raise PipelineError(f"--out: {path} is inside of the run directory {run}; choose a file outside of it")
    if path.exists():
        raise PipelineError(f"--out: {path} exists; remove it, or choose another name")


def _is_foreign(name: str) -> bool:
    """Return whether a file is not one of those that a run writes before the first line of its ledger."""
    return name not in (LEDGER, LOCK) and not name.endswith(PARTIAL)
