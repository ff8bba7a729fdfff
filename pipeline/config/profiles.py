"""From the value of `--cluster` to a profile: a name, a file, an address or a scheduler file."""

import os
import sys
import tomllib
from difflib import get_close_matches
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile, allowed_keys, make_profile
from kernel_pipeline.config.loading import load_toml
from kernel_pipeline.config.validation_errors import describe_errors


def profile_folder() -> Path:
    """Return the directory of the user's own profiles, which need not exist."""
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
    """Return the description of a profile, or the error message of a file that is not one."""
    try:
        return str(_parse_toml(file, file.name).get("description", ""))
    except ProfileError as error:
        return str(error)


def find_profile(asked: str, workers: int | None = None, insecure: bool = False, dashboard: bool = False) -> Profile:
    """Return the profile that `--cluster` names, changed by `--workers`, `--insecure` and `--dashboard`.

    Raises
    ------
    ProfileError
        If there is no such profile, it is not valid, or one of the other options does not apply to it.
    """
    values, where = _find(asked)
    profile = parse_profile(values, where)
    allowed = allowed_keys(profile.backend)
    for name, given in (("insecure", insecure), ("dashboard", dashboard)):
        if given:
            if name not in allowed:
                raise ProfileError(f"--{name} does not apply to --cluster {asked}")
            values[name] = True
    if workers:
        if "jobs" not in allowed:
            raise ProfileError(f"--workers does not apply to --cluster {asked}: its workers are started by others")
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


def _find(asked: str) -> tuple[dict[str, Any], str]:
    """Return the values of a profile, and their origin for messages."""
    if "://" in asked:
        return {"backend": "address", "address": asked}, f"--cluster {asked}"
    known = known_profiles()
    if asked not in known and Path(asked).is_file():
        if Path(asked).suffix != ".toml":
            return {"backend": "address", "address": asked}, f"--cluster {asked}"
        return _parse_toml(Path(asked), asked), asked
    if asked not in known:
        nearest = get_close_matches(asked, known, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        raise ProfileError(
            f"--cluster {asked!r}: there is no such cluster. Give the address of a scheduler (tls://HOST:PORT), its "
            f"scheduler file, or a profile: a TOML file, the name of a file in {profile_folder()}, or a shipped "
            f"profile ({', '.join(known)}).{hint}"
        )
    where = f"profile {asked!r}"
    return _parse_toml(known[asked], where), where


def _parse_toml(file: Traversable, where: str) -> dict[str, Any]:
    try:
        return load_toml(file.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ProfileError(f"{where} is not valid TOML: {error}") from None
