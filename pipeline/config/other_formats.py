"""Explain why a file cannot be read as a config: it is YAML, JSON or data instead of TOML."""

import json
import re
from pathlib import Path

from kernel_pipeline.config.starter_config import starter_config
from kernel_pipeline.tasks.registry import Registry

EXTENSIONS: Registry[str] = Registry("extension of data files", modules=("kernel_pipeline.data.formats",))
"""Name of the format of data files, by their extension; the module of a format registers both."""
UNSUPPORTED_DATA = (".xls", ".xlsx", ".h5", ".hdf5", ".npy", ".pkl", ".mat")
COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
YAML_LINE = re.compile(r"^\s*(- )?\w[\w-]*:(\s|$)", re.MULTILINE)
TOML_LINE = re.compile(r'^\s*[\w."-]+\s*=', re.MULTILINE)
UNQUOTED = re.compile(r"""\s*([\w."-]+)\s*=\s*([A-Za-z][^"'#]*?)\s*(#.*)?""")
MIN_TABLE_LINES = 2
EXAMPLE = "`pipeline config show default` prints a config to start from"


def explain_data_file(path: Path) -> str | None:
    """Return the explanation for a file with the extension of a data file; None for other files."""
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    suffix = name.suffix.lower()
    if suffix in EXTENSIONS:
        return _explain_data(path, EXTENSIONS[suffix])
    if suffix in UNSUPPORTED_DATA:
        return (
            f"this looks like data, in a format that is not supported ({suffix}). Save it as csv or parquet, and write "
            f"a config that names that file. {EXAMPLE}"
        )
    return None


def explain_invalid_toml(text: str, path: Path) -> str | None:
    """Return an explanation for text that is not valid TOML; None if its format is not recognised."""
    if text.lstrip().startswith(("{", "[")):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            return f'it is JSON, but a config is TOML: write name = "my-sweep" instead of "name": "my-sweep". {EXAMPLE}'
    if TOML_LINE.search(text):
        return None
    if YAML_LINE.search(text):
        return f'it looks like YAML, but a config is TOML: write name = "my-sweep" instead of name: my-sweep. {EXAMPLE}'
    lines = [line for line in text.splitlines()[:10] if line.strip()]
    for mark in (",", ";", "\t"):
        counts = {line.count(mark) for line in lines}
        if len(lines) >= MIN_TABLE_LINES and len(counts) == 1 and counts != {0}:
            return _explain_data(path, "csv")
    return None


def explain_unquoted(text: str, error: str) -> str:
    """Return an error about TOML, with the correction if text is not in quotes.

    >>> explain_unquoted("# a config\\nindex = patient  # a column", "Invalid value (at line 2, column 9)")
    'Invalid value (at line 2, column 9): text must be in quotes; write index = "patient"'
    """
    place = re.search(r"at line (\d+)", error)
    found = place and UNQUOTED.fullmatch(text.split("\n")[int(place[1]) - 1])
    return f'{error}: text must be in quotes; write {found[1]} = "{found[2]}"' if found else error


def _explain_data(path: Path, format_name: str) -> str:
    """Return the explanation for a data file that was given as a config, with a config for it."""
    name, example = starter_config(path, format_name)
    toml = path.with_name(f"{name}.toml")
    return (
        f"this looks like data, not a config. Save the following as {toml}, and run `pipeline run {toml}`:\n\n{example}"
    )
