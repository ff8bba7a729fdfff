"""Forged run directories on which the commands are tested, by name."""

import shutil
from pathlib import Path
from typing import Any

from tests.faults.forge import (
    ARRAY,
    CHUNK,
    DATA,
    DEEP,
    ESCAPE,
    FIT,
    GIB,
    TILES,
    Forgery,
    add,
    change,
    control_sequences,
    described,
    fifo,
    forged_result,
    huge_chunk,
    linked,
    many_rows,
    moved,
    other_config,
    pickled,
    raw_line,
    restored,
    sparse,
    written,
)

CONFIG: dict[str, Any] = {
    "name": "small",
    "baselines": False,
    "methods": ["unif", "alignf"],
    "protocol": {"folds": 3},
    "fit": {"krr": {"from": -8, "to": 0, "step": 4}},
    "storage": {"tile": 30, "keep_combined": True},  # so that tests can damage the combined kernels
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 50,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, -2]}],
        }
    ],
}
LINE = '{"name": "x", "identity": "", "digests": {}, "seconds": 0.0, "peak_memory": 0, "failed": "", "result": '
DIGEST = "00000000:4"
COMMANDS: dict[str, tuple[str, ...]] = {
    "status": ("status", "ROOT"),
    "report": ("report", "ROOT"),
    "verify": ("verify", "ROOT"),
    "runs": ("runs", "ABOVE"),
    "unlock": ("unlock", "ROOT"),
    "resume": ("resume", "ROOT"),
    "repair": ("verify", "ROOT", "--repair"),
    "clean": ("clean", "ROOT", "--keep", "results"),
    "run": ("run", "CONFIG", "--out", "ROOT"),
}
READING = ("status", "verify", "runs")

KEYS: dict[str, Forgery] = {
    "an absolute key is to be restored": restored("OUTSIDE/precious.txt"),
    "a key above the directory is to be restored": restored("../outside/precious.txt"),
    "one more file is to be restored": restored("results/forged.csv"),
    "a script is to be restored": restored("logs/submitted.sh"),
    "a task wrote a folder above": change(TILES, digests={"../outside/folder": DIGEST}),
    "a task wrote an absolute key": change(TILES, digests={"OUTSIDE/folder": DIGEST}),
    "a key goes up and down again": change(TILES, digests={"results/../../outside/folder": DIGEST}),
    "a key with an empty part": change(TILES, digests={"gram.zarr//wave": DIGEST}),
    "a key with a control character": change("tables", digests={f"results/{ESCAPE}": DIGEST}),
    "the tables are outside": change("tables", digests={"OUTSIDE/precious.txt": DIGEST}),
    "a task wrote the lock": change(TILES, digests={"lock": DIGEST}),
}
NAMES: dict[str, Forgery] = {
    "a dataset above the directory": add("data/../../outside"),
    "a dataset by an absolute name": add("data//etc"),
    "what was cleaned is above": add("cleaned", {"datasets": ["../../outside"]}),
    "the config names a dataset above": other_config('name = "wave"', 'name = "../outside"'),
    "the arrays are in another folder": change("sweep", result={"arrays": "OUTSIDE/neighbour"}),
    "the arrays are at a file address": change("sweep", result={"arrays": "file://OUTSIDE/neighbour"}),
    "the arrays are in a bucket that the config does not name": change("sweep", result={"arrays": "s3://other/run"}),
}
LINKS: dict[str, Forgery] = {
    f"{key} is elsewhere": moved(key)
    for key in (
        "combined.zarr",
        "results",
        "logs",
        "gram.zarr/wave/gram/c",
        "data.zarr/wave",
        "ledger.jsonl",
        CHUNK,
        "results/rows.csv",
        "environment.json",
    )
} | {
    f"{key} is a link to another file": linked(key)
    for key in ("lock", "config.toml", "environment.json", "report.html", "logs/driver.log", f"{ARRAY}/zarr.json")
}
FIFOS: dict[str, Forgery] = {
    f"{key} is a FIFO": fifo(key)
    for key in (
        "lock",
        "ledger.jsonl",
        "config.toml",
        "environment.json",
        "results/rows.csv",
        "report.html",
        "logs/driver.log",
        "logs/submitted.json",
        f"{ARRAY}/zarr.json",
        CHUNK,
    )
}
DESCRIPTIONS: dict[str, Forgery] = {
    "an array of pickles": pickled,
    "an array with an unsupported codec": described(
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "numcodecs.zlib"}]
    ),
    "an array of another data type": described(data_type="float32"),
    "an array with another fill value": described(fill_value=0.0),
    "an array with other chunks": described(
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2, 50, 50]}}
    ),
    "a description that is not an object": described(attributes=[], shape="all"),
    "a deeply nested description": written(f"{ARRAY}/zarr.json", DEEP),
}
RESULTS: dict[str, Forgery] = {
    "a fit whose path is not an object": forged_result(FIT, {"path": 3}),
    "a fit whose path has lists of unequal size": forged_result(FIT, {"path": {"values": [[1.0]], "test_errors": []}}),
    "weights without their kernels": forged_result("weights/wave/regression/alignf/0-2", {"trials": {"0": {}}}),
    "degenerate kernels that do not exist": forged_result(
        "reduce/wave/regression", {"flat": {"count": 1, "first": [[99, [0]]]}}
    ),
}
JSONS: dict[str, Forgery] = {
    "a deeply nested ledger line": raw_line(LINE + DEEP),
    "a ledger line with a huge number": raw_line(LINE + "9" * 10_000),
    "a ledger line with wrong types": raw_line(LINE.replace('"digests": {}', '"digests": ["x"]') + "{}"),
    "a ledger line without a result": raw_line(LINE + "null"),
    "a deeply nested environment": written("environment.json", DEEP),
    "an environment with a huge format": written("environment.json", '{"format": 1e999}'),
    "a deeply nested lock": written("lock", DEEP),
    "a lock with wrong types": written("lock", '{"host": [], "pid": "x", "since": {}}'),
    "an info with wrong types": change(DATA, result={"outline": {"rows": "many"}}),
    "tables without a sweep": change("tables", result={"sweep": []}),
    "a sweep without files": change("sweep", result={"files": {}}),
    "a deeply nested config": other_config('name = "small"', f'name = "small"\nx = {DEEP}'),
    **RESULTS,
    "control characters in all printed texts": control_sequences,
}
IN_PROCESS = KEYS | NAMES | LINKS | FIFOS | DESCRIPTIONS | JSONS

SIZES: dict[str, Forgery] = {
    "a ledger of 100 GiB": sparse("ledger.jsonl", 100 * GIB),
    "a config of 100 GiB and no ledger": sparse("config.toml", 100 * GIB, without="ledger.jsonl"),
    "an environment of 100 GiB": sparse("environment.json", 100 * GIB),
    "a lock of 100 GiB": sparse("lock", 100 * GIB),
    "a table of 100 GiB": sparse("results/rows.csv", 100 * GIB),
    "a chunk of 64 GiB": huge_chunk,
    "a description of 100 GiB": sparse(f"{ARRAY}/zarr.json", 100 * GIB),
    "an array of 10^18 numbers": described(shape=[2, 10**9, 10**9]),
    "an array with one chunk of 80 GB": described(
        shape=[2, 10**5, 10**5], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, 10**5, 10**5]}}
    ),
    "an info of 10^9 rows": many_rows,
}


def prepare(base: Path, folder: Path, forgery: Forgery) -> tuple[Path, Path]:
    """Copy a finished run and forge the copy; return it and a folder outside it, which holds another run."""
    outside = folder / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "folder/kept.txt").write_text("kept")
    (outside / "precious.txt").write_text("precious\n")
    shutil.copytree(base, outside / "neighbour")
    root = shutil.copytree(base, folder / "run")
    forgery(root, outside)
    return root, outside


def arguments(command: str, root: Path, config: Path) -> list[str]:
    """Return the arguments that run a command on a directory."""
    places = {"ROOT": str(root), "ABOVE": str(root.parent), "CONFIG": str(config)}
    return [places.get(part, part) for part in COMMANDS[command]]
