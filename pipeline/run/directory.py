"""The place of a run: a directory that is free for it, or already its own."""

from pathlib import Path

from kernel_pipeline.config.loading import config_digest
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ELSEWHERE, RefusedError
from kernel_pipeline.store.files import PARTIAL
from kernel_pipeline.store.paths import CONFIG, LEDGER, LOCK
from kernel_pipeline.store.storage import Storage


def default_directory(config: Config) -> Path:
    """Where a sweep goes unless told: the same config always to the same place."""
    return Path("runs") / f"{config.name}-{config_digest(config)}"


def check_place(root: Storage) -> None:
    """Refuse what is neither free nor a run directory, or cannot be written to. Leaves nothing behind."""
    root.check_usable()
    if not is_run_directory(root) and any(map(_is_foreign, root.names())):
        raise RefusedError(f"{root} is not empty and is not a run directory. {ELSEWHERE}")


def is_run_directory(root: Storage) -> bool:
    """Whether a run was ever begun there: its ledger has a line, or is lost and the config is still there."""
    return root.exists(CONFIG) or root.journal().has_lines()


def _is_foreign(name: str) -> bool:
    """Whether a name is none of those that a run has before its first line of the ledger."""
    return name not in (LEDGER, LOCK) and not name.endswith(PARTIAL)
