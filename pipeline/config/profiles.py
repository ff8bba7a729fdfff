"""Find the cluster profile for a value of `--cluster`: a name, a file, an address or a scheduler file."""

import os
import sys
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile, allowed_keys, make_profile
from kernel_pipeline.cluster.strict_model import did_you_mean
from kernel_pipeline.config.loading import load_toml
from kernel_pipeline.config.validation_errors import describe_errors


def profile_folder() -> Path:
    """Return the directory of the user's own profiles, which may not exist."""
    if sys.platform == "darwin":
        settings = "~/Library/Application Support"
    else:
        settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings).expanduser() / "kernel-pipeline" / "clusters"


def known_profiles() -> dict[str, Traversable]:
    """Return the file of each profile by name; the user's own profiles replace shipped ones of the same name."""
    shipped = sorted(files("kernel_pipeline.configs").joinpath("clusters").iterdir(), key=lambda entry: entry.name)
    own = sorted(profile_folder().glob("*.toml")) if profile_folder().is_dir() else []
    return {Path(entry.name).stem: entry for entry in (*shipped, *own)}


def describe(file: Traversable) -> str:
    """Return the description of a profile, or the error message if the file is not valid."""
    try:
        return str(_parse_toml(file, file.name).get("description", ""))
    except ProfileError as error:
        return str(error)


def find_profile(cluster: str, workers: int | None = None, insecure: bool = False, dashboard: bool = False) -> Profile:
    """Return the profile that `--cluster` names, changed by `--workers`, `--insecure` and `--dashboard`.

    Raises
    ------
    ProfileError
        If there is no such profile, it is not valid, or one of the other options does not apply to it.
    """
    values, where = _find(cluster)
    profile = parse_profile(values, where)
    allowed = allowed_keys(profile.backend)
    for name, given in (("insecure", insecure), ("dashboard", dashboard)):
        if given:
            if name not in allowed:
                raise ProfileError(f"--{name} does not apply to --cluster {cluster}; remove this option")
            values[name] = True
    if workers:
        if "jobs" not in allowed:
            raise ProfileError(
                f"--workers does not apply to --cluster {cluster}: its workers are not started by this command"
            )
        values.pop("adapt", None)
        values["jobs"] = -(-workers // profile.cores)
    return parse_profile(values, where)


def parse_profile(values: dict[str, Any], where: str) -> Profile:
    """Validate the values of a profile.

    Parameters
    ----------
    values
        Keys and values, as in a TOML file.
    where
        Origin of the values, for messages.

    Raises
    ------
    ProfileError
        If the values are not a valid profile.
    """
    try:
        return make_profile(values)
    except ValidationError as error:
        lines = describe_errors(error, values)
        raise ProfileError(f"{where} is not a valid profile:\n" + "\n".join(f"  {line}" for line in lines)) from None


def _find(cluster: str) -> tuple[dict[str, Any], str]:
    """Return the values of a profile, and their origin for messages."""
    if "://" in cluster:
        return {"backend": "address", "address": cluster}, f"--cluster {cluster}"
    known = known_profiles()
    if cluster not in known and Path(cluster).is_file():
        if Path(cluster).suffix != ".toml":
            return {"backend": "address", "address": cluster}, f"--cluster {cluster}"
        return _parse_toml(Path(cluster), cluster), cluster
    if cluster not in known:
        raise ProfileError(
            f"--cluster {cluster!r}: there is no such cluster. Give the address of a scheduler (tls://HOST:PORT), its "
            f"scheduler file, or a profile: a TOML file, the name of a file in {profile_folder()}, or a shipped "
            f"profile ({', '.join(known)}).{did_you_mean(cluster, known)}"
        )
    where = f"profile {cluster!r}"
    return _parse_toml(known[cluster], where), where


def _parse_toml(file: Traversable, where: str) -> dict[str, Any]:
    try:
        return load_toml(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ProfileError(f"{where} cannot be read: {error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{where} is not valid TOML: {error}") from None
