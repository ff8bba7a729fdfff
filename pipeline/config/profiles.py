"""From what `--cluster` says to a profile: a name, a file, an address or a scheduler file."""

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
from kernel_pipeline.cluster.profile import TAKES, Profile
from kernel_pipeline.config.loading import load_toml, sentences


def profile_folder() -> Path:
    """Return the directory of the user's own profiles, which need not exist."""
    if sys.platform == "darwin":
        settings = "~/Library/Application Support"
    else:
        settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings).expanduser() / "kernel-pipeline" / "clusters"


def known_profiles() -> dict[str, Traversable]:
    """The file of each profile by name: the user's own come before those that are shipped."""
    shipped = sorted(files("kernel_pipeline.configs").joinpath("clusters").iterdir(), key=lambda entry: entry.name)
    own = sorted(profile_folder().glob("*.toml")) if profile_folder().is_dir() else []
    return {Path(entry.name).stem: entry for entry in (*shipped, *own)}


def describe(file: Traversable) -> str:
    """What a profile says of itself."""
    try:
        return str(_parse_toml(file, file.name).get("description", ""))
    except ProfileError as error:
        return str(error)


def find_profile(asked: str, workers: int | None = None, insecure: bool = False, dashboard: bool = False) -> Profile:
    """The profile of a `--cluster` option, changed by `--workers`, `--insecure` and `--dashboard`."""
    values, where = _find(asked)
    profile = parse_profile(values, where)
    for name, given in (("insecure", insecure), ("dashboard", dashboard)):
        if given:
            if name not in TAKES[profile.backend]:
                raise ProfileError(f"--{name} has no meaning for --cluster {asked}")
            values[name] = True
    if workers:
        if "jobs" not in TAKES[profile.backend]:
            raise ProfileError(f"--workers has no meaning for --cluster {asked}: its workers are there already")
        values.pop("adapt", None)
        values["jobs"] = -(-workers // profile.cores)
    return parse_profile(values, where)


def parse_profile(values: dict[str, Any], where: str) -> Profile:
    """Validate the values of a profile; `where` names their origin in messages."""
    try:
        return Profile.model_validate(values)
    except ValidationError as error:
        lines = sentences(error, values)
        takes = TAKES.get(str(values.get("backend")))
        if takes:
            lines.append(f"backend {values['backend']!r} takes: {', '.join(sorted(takes))}")
        raise ProfileError(f"{where} is not a valid profile:\n" + "\n".join(f"  {line}" for line in lines)) from None


def _find(asked: str) -> tuple[dict[str, Any], str]:
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
            f"scheduler file, or a profile: a TOML file, or the name of one in {profile_folder()} or of a shipped one "
            f"({', '.join(known)}).{hint}"
        )
    where = f"profile {asked!r}"
    return _parse_toml(known[asked], where), where


def _parse_toml(file: Traversable, where: str) -> dict[str, Any]:
    try:
        return load_toml(file.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ProfileError(f"{where} is not valid TOML: {error}") from None
