"""Check the arguments of functions of the Python API; the messages name the argument, its value and what is allowed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from reprlib import repr as shortened_repr
from typing import Any, NoReturn

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import ConfigError

VERIFY = ("quick", "full")


def check_config(config: object) -> None:
    """Reject a config that is not a name, a path, a dict or a `Config`."""
    if not isinstance(config, str | Path | Mapping | Config):
        _reject("config", config, "the name of a shipped config, the path of a TOML file, a dict or a kp.Config")


def check_settings(settings: object) -> None:
    """Reject settings that are not a dict with dotted keys."""
    if settings is not None and not (isinstance(settings, Mapping) and all(isinstance(key, str) for key in settings)):
        _reject("settings", settings, "a dict with dotted keys, such as {'protocol.folds': 3}")


def check_path(name: str, path: object, allowed: str = "a path") -> None:
    """Reject a path that is neither text nor a `Path`."""
    if not isinstance(path, str | Path):
        _reject(name, path, allowed)


def check_run_directory(name: str, directory: object) -> None:
    """Reject a run directory that is neither a path nor an address."""
    check_path(name, directory, "the path of a run directory, or s3://BUCKET/PREFIX")


def check_cluster(cluster: object, workers: object) -> None:
    """Reject a cluster that is neither a name, a path nor a client, and a number of workers below 1."""
    if not isinstance(cluster, str | Path):
        from distributed import Client  # slow to import

        if not isinstance(cluster, Client):
            profile = "the name or file of a profile (`pipeline clusters` lists them)"
            _reject("cluster", cluster, f"{profile}, the address of a scheduler, or a connected distributed.Client")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        _reject("workers", workers, "an integer of at least 1, or None")


def check_listeners(listeners: object) -> None:
    """Reject listeners that are not a list or tuple of functions."""
    if not isinstance(listeners, Sequence) or not all(map(callable, listeners)):
        _reject("listeners", listeners, "a list of functions, such as [kp.RunView()]")


def check_verify(verify: object) -> None:
    """Reject an unknown way to check files."""
    if verify not in VERIFY:
        _reject("verify", verify, " or ".join(map(repr, VERIFY)))


def _reject(name: str, value: Any, allowed: str) -> NoReturn:
    raise ConfigError(f"{name}: must be {allowed}; got {shortened_repr(value)} ({type(value).__name__})")
