"""Functions that forge a run directory; each takes the directory and a folder outside it that must not change."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google_crc32c

from kernel_pipeline.store.digests import content_digest

Forgery = Callable[[Path, Path], None]
GIB = 1 << 30
CHUNK = "gram.zarr/wave/gram/c/0/0/0"
ARRAY = "gram.zarr/wave/gram"
TILES = "tiles/wave/0"
DATA = "data/wave"
FIT = "fits/wave/regression/unif/1"
DEEP = "[" * 200_000 + "]" * 200_000
ESCAPE = "\x1b]0;owned\x07"


class Payload:
    """Object that creates a file when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.canary,)


def line_of(body: str) -> bytes:
    """Return a ledger line with a valid checksum, built from a JSON object without its closing brace."""
    content = body.encode()
    return content + b', "check": "' + content_digest(content).encode() + b'"}\n'


def entries(root: Path) -> dict[str, dict[str, Any]]:
    """Return the latest ledger entry of each name."""
    found = [json.loads(line) for line in (root / "ledger.jsonl").read_bytes().splitlines()]
    return {entry["name"]: {key: value for key, value in entry.items() if key != "check"} for entry in found}


def write_entries(root: Path, *forged: dict[str, Any]) -> None:
    """Rewrite the ledger with these entries replaced or added."""
    by_name = {entry["name"]: entry for entry in forged}
    found = entries(root) | by_name
    lines = [line_of(json.dumps(entry).removesuffix("}")) for entry in found.values()]
    (root / "ledger.jsonl").write_bytes(b"".join(lines))


def change(name: str, **changes: Any) -> Forgery:
    """Replace fields of an entry; those of `digests` and `result` are merged."""

    def forge(root: Path, outside: Path) -> None:
        entry = entries(root)[name]
        for field, value in changes.items():
            value = json.loads(json.dumps(value).replace("OUTSIDE", str(outside)))
            merged = isinstance(value, dict) and isinstance(entry[field], dict)
            entry[field] = entry[field] | value if merged else value
        write_entries(root, entry)

    return forge


def add(name: str, result: dict[str, Any] | None = None, digests: dict[str, str] | None = None) -> Forgery:
    """Add an entry to the ledger."""

    def forge(root: Path, _outside: Path) -> None:
        entry = {"name": name, "identity": "", "digests": digests or {}, "result": result or {}}
        write_entries(root, {**entry, "seconds": 0.0, "peak_memory": 0, "failed": ""})

    return forge


def raw_line(text: str) -> Forgery:
    """Append a line with a valid checksum to the ledger."""

    def forge(root: Path, _outside: Path) -> None:
        with (root / "ledger.jsonl").open("ab") as ledger:
            ledger.write(line_of(text))

    return forge


def restored(key: str) -> Forgery:
    """Add a file to those that the ledger says must be restored."""

    def forge(root: Path, outside: Path) -> None:
        entry = entries(root)["sweep"]
        place = key.replace("OUTSIDE", str(outside))
        entry["digests"][place] = "00000000:6"
        entry["result"]["files"][place] = "forged"
        write_entries(root, entry)

    return forge


def other_config(old: str, new: str) -> Forgery:
    """Change the text of the config that is stored in the ledger."""

    def forge(root: Path, _outside: Path) -> None:
        entry = entries(root)["sweep"]
        text = entry["result"]["files"]["config.toml"]
        assert old in text
        entry["result"]["files"]["config.toml"] = text.replace(old, new, 1)
        write_entries(root, entry)

    return forge


def moved(key: str) -> Forgery:
    """Replace a part of the directory by a link to the same content outside."""

    def forge(root: Path, outside: Path) -> None:
        target = outside / key.replace("/", "-")
        if (root / key).exists():
            shutil.move(root / key, target)
            if target.is_dir():
                (target / "mine.txt").write_text("mine")
        else:
            target.write_text("precious\n")
        (root / key).symlink_to(target)

    return forge


def linked(key: str) -> Forgery:
    """Replace a file by a link to a file outside the directory."""

    def forge(root: Path, outside: Path) -> None:
        (root / key).unlink(missing_ok=True)
        (root / key).parent.mkdir(exist_ok=True)
        (root / key).symlink_to(outside / "precious.txt")

    return forge


def fifo(key: str) -> Forgery:
    """Replace a file by a FIFO."""

    def forge(root: Path, _outside: Path) -> None:
        (root / key).unlink(missing_ok=True)
        (root / key).parent.mkdir(exist_ok=True)
        os.mkfifo(root / key)

    return forge


def written(key: str, content: str) -> Forgery:
    """Replace the content of a file."""

    def forge(root: Path, _outside: Path) -> None:
        (root / key).write_text(content)

    return forge


def sparse(key: str, size: int, without: str = "") -> Forgery:
    """Extend a file to a size without using disk space."""

    def forge(root: Path, _outside: Path) -> None:
        if without:
            (root / without).unlink()
        with (root / key).open("ab") as file:
            file.truncate(size)

    return forge


def huge_chunk(root: Path, _outside: Path) -> None:
    """Extend a chunk to 64 GiB, and record this size in its digest in the ledger."""
    size = 64 * GIB
    with (root / CHUNK).open("r+b") as file:
        file.truncate(size)
    change(TILES, digests={CHUNK: f"00000000:{size}"})(root, root)


def described(key: str = ARRAY, **changes: Any) -> Forgery:
    """Change the metadata of an array and its digest in the ledger, and forget the tasks that read the array."""

    def forge(root: Path, _outside: Path) -> None:
        path = root / key / "zarr.json"
        content = json.dumps(json.loads(path.read_text()) | changes)
        path.write_text(content)
        change(DATA, digests={f"{key}/zarr.json": content_digest(content.encode())})(root, root)
        forget(root, "tables", "combine/", "fits/")

    return forge


def forged_result(name: str, result: dict[str, Any]) -> Forgery:
    """Change the result of a task, and forget the tables so that they are written again."""

    def forge(root: Path, outside: Path) -> None:
        change(name, result=result)(root, outside)
        forget(root, "tables")

    return forge


def forget(root: Path, *prefixes: str) -> None:
    """Remove the entries whose names start with one of the prefixes from the ledger."""
    kept = [entry for name, entry in entries(root).items() if not name.startswith(prefixes)]
    (root / "ledger.jsonl").unlink()
    (root / "ledger.jsonl").touch()
    write_entries(root, *kept)


def pickled(root: Path, outside: Path) -> None:
    """Replace arrays by zarr v2 arrays with a pickle codec, whose chunks run code when they are decoded."""
    entry = entries(root)[DATA]
    for name, values in (("features", [50, 4]), ("targets", [50, 1])):
        array = f"data.zarr/wave/{name}"
        content = json.dumps(
            {
                "zarr_format": 2,
                "shape": values,
                "chunks": values,
                "dtype": "|O",
                "compressor": None,
                "fill_value": "",
                "order": "C",
                "filters": [{"id": "vlen-utf8"}, {"id": "pickle", "protocol": 5}],
            }
        ).encode()
        for key in [key for key in entry["digests"] if key.startswith(f"{array}/")]:
            (root / key).unlink()
            del entry["digests"][key]
        payload = pickle.dumps(Payload(outside.parent / "canary"))
        chunk = payload + google_crc32c.value(payload).to_bytes(4, "little")  # pickle ignores bytes after its end
        for key, written in ((f"{array}/.zarray", content), (f"{array}/0.0", chunk)):
            (root / key).write_bytes(written)
            entry["digests"][key] = f"{written[-4:].hex()}:{len(written)}"  # what a quick check compares
    write_entries(root, entry)
    forget(root, "tables", "tiles/", "reduce/", "weights/", "combine/", "fits/")


def many_rows(root: Path, _outside: Path) -> None:
    """Record more rows for a dataset than it has."""
    info = entries(root)[DATA]["result"]["outline"]
    change(DATA, result={"outline": info | {"rows": 10**9}})(root, root)


def control_sequences(root: Path, _outside: Path) -> None:
    """Put terminal control sequences into all texts that commands print."""
    change(TILES, failed=f"failed: {ESCAPE}")(root, root)
    (root / "lock").write_text(json.dumps({"host": f"other{ESCAPE}", "pid": 7, "since": ESCAPE}))
    (root / "results" / f"mine{ESCAPE}").touch()
