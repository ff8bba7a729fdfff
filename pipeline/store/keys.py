"""Validate the keys, names and digests in a ledger; a line with an invalid one is not a ledger line."""

import re

from kernel_pipeline.store.paths import CONFIG, ENVIRONMENT, FIGURES, GROUPS, REPORT, RESULTS

MAX_KEY_LENGTH = 1024
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,254}")
DIGEST = re.compile(r"(?:(?:[0-9a-f]{0,8}|damaged):[0-9]{1,18})?")
DIGEST_OF_INPUTS = re.compile(r"[0-9]{1,18}:[0-9a-f]{1,32}")
CHUNK = re.compile(r"(.+)/c/[0-9]+(?:/[0-9]+)*")
ARRAY_PART = re.compile(r"[^/]+\.zarr/([^/]+)(?:/[^/]+)*?/(?:zarr\.json|c(?:/[0-9]+)*)")
FOLDERS = (*GROUPS, RESULTS, FIGURES)


def is_key(key: object) -> bool:
    """Return whether a ledger may contain this key: the config, the environment, the report, or a file in a folder.

    >>> [is_key(key) for key in ("config.toml", "results/rows.csv", "gram.zarr/wave/gram/c/0/0/1")]
    [True, True, True]
    >>> [is_key(key) for key in ("/etc/passwd", "results/../x", "results//x", "lock", "results")]
    [False, False, False, False, False]
    """
    if not isinstance(key, str) or len(key) > MAX_KEY_LENGTH or not key.isprintable():
        return False
    if key in (CONFIG, ENVIRONMENT, REPORT):
        return True
    folder, *parts = key.split("/")
    return folder in FOLDERS and bool(parts) and all(part not in ("", ".", "..") for part in parts)


def is_name(name: object) -> bool:
    """Return whether a string may be part of the name of an entry, such as the name of a dataset.

    >>> is_name("wave"), is_name(".."), is_name("a/b"), is_name("")
    (True, False, False, False)
    """
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def is_entry_name(name: object) -> bool:
    """Return whether a string may name an entry of the ledger: names separated by slashes.

    >>> is_entry_name("fits/wave/regression/align-q1.5/0"), is_entry_name("data/../x"), is_entry_name("data//x")
    (True, False, False)
    """
    return isinstance(name, str) and len(name) <= MAX_KEY_LENGTH and all(map(is_name, name.split("/")))


def is_digest_of_inputs(text: object) -> bool:
    """Return whether a string is a digest of the inputs of a task, or empty, as in ledgers of earlier versions.

    >>> is_digest_of_inputs("12:6c0e9f"), is_digest_of_inputs(""), is_digest_of_inputs("many:6c0e9f")
    (True, True, False)
    """
    return isinstance(text, str) and (not text or DIGEST_OF_INPUTS.fullmatch(text) is not None)


def is_digest(digest: object) -> bool:
    """Return whether a string may be a digest: a checksum and a size, or empty."""
    return isinstance(digest, str) and DIGEST.fullmatch(digest) is not None


def array_of(key: str) -> str:
    """Return the key of the array that a chunk belongs to; empty for a key that is not a chunk.

    >>> array_of("gram.zarr/c/gram/c/0/0/1"), array_of("gram.zarr/wave/zarr.json")
    ('gram.zarr/c/gram', '')
    """
    found = CHUNK.fullmatch(key)
    return found[1] if found else ""


def dataset_of(key: str) -> str:
    """Return the dataset whose array or group a file belongs to; empty for any other file.

    >>> [dataset_of(key) for key in ("gram.zarr/wave/gram/c/0/0/1", "gram.zarr/wave/zarr.json", "results/rows.csv")]
    ['wave', 'wave', '']
    """
    found = ARRAY_PART.fullmatch(key)
    return found[1] if found else ""
