"""Any damage to a stored file is detected and named, and only this file is computed again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.text import counted
from tests.faults.harness import (
    added,
    assert_same,
    assert_same_and_tidy,
    command,
    flip,
    lines,
    listing,
    rewrite_ledger,
    swap,
)
from tests.helpers.sweeps import pipeline

pytestmark = pytest.mark.faults

CHECKSUM = 4
DATA, COLUMNS, TILES, REDUCE = "data/wave", "data/columns", "tiles/wave/0", "reduce/wave/regression"
ALIGNF, UNIF = "weights/wave/regression/alignf/0-2", "combine/wave/regression/unif/0"
# One chunk of each kind, a chunk to exchange it with, and the task that writes it.
CHUNKS = {
    "gram": ("gram.zarr/wave/gram/c/0/0/1", "gram.zarr/wave/gram/c/0/0/2", TILES),
    "sums": ("statistics.zarr/wave/sums/{sums}", "statistics.zarr/wave/sums/{other sums}", TILES),
    "statistics": ("statistics.zarr/wave/regression/M/c/0/0/0", "statistics.zarr/wave/regression/M/c/1/0/0", REDUCE),
    "weights": ("weights.zarr/wave/regression/alignf/c/1/0", "weights.zarr/wave/regression/alignf/c/2/0", ALIGNF),
    "combined": ("combined.zarr/wave/regression/unif/c/0/0/1", "combined.zarr/wave/regression/unif/c/0/1/2", UNIF),
    "data": ("gram.zarr/wave/order/c/0", "gram.zarr/wave/fold/c/0", DATA),
    "features": ("data.zarr/wave/features/c/0/0", "data.zarr/wave/targets/c/0/0", DATA),
    "sparse columns": ("data.zarr/columns/columns/data/c/0", "data.zarr/columns/columns/indices/c/0", COLUMNS),
}


def cut(size: Callable[[int], int]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[: size(len(content))])

    return damage


def edit(key: str, value: object) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))

    return damage


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit of the first bytes": lambda path: flip(path, 1),
    "a bit in the middle": lambda path: flip(path, path.stat().st_size // 2),
    "a bit of the last value": lambda path: flip(path, -CHECKSUM - 1),
    "a bit of the checksum": lambda path: flip(path, -2),
    "a byte too short": cut(lambda size: size - 1),
    "cut in half": cut(lambda size: size // 2),
    "empty": cut(lambda size: 0),
    "deleted": Path.unlink,
}
DESCRIPTIONS: dict[str, Callable[[Path], None]] = {
    "another shape": edit("shape", [4, 80, 80]),
    "another type": edit("data_type", "float32"),
    "no JSON": cut(lambda size: size - 2),
    "deleted": Path.unlink,
}


def chunk(root: Path, kind: str, which: int = 0) -> str:
    """Return the key of a chunk; chunks of the sums are searched for, since the names of their arrays may change."""
    key = CHUNKS[kind][which]
    if "{" not in key:
        return key
    sums = sorted(path for path in (root / "statistics.zarr/wave/sums").rglob("*") if path.parent.name != "sums")
    chunks = [path for path in sums if path.is_file() and path.name != "zarr.json"]
    return str(chunks[-which].relative_to(root))


def assert_named(root: Path, *keys: str) -> str:
    """Check that `verify` names exactly these files and changes nothing; return its output."""
    before = listing(root)
    found = command("verify", root)
    assert found.exit_code == 4, found.output
    *named, last = found.output.splitlines()
    assert {line.split(" ")[0] for line in named} == set(keys), found.output
    assert f"Found {counted(len(keys), 'problem')};" in last
    assert listing(root) == before
    return found.output


@pytest.mark.parametrize("kind", CHUNKS)
def test_verify_names_a_damaged_chunk_and_no_other(root: Path, kind: str) -> None:
    path = root / chunk(root, kind)
    content = path.read_bytes()
    for damage in DAMAGES.values():
        damage(path)
        said = assert_named(root, str(path.relative_to(root)))
        assert "is damaged" in said if path.exists() else "is missing" in said
        path.write_bytes(content)
    assert command("verify", root).exit_code == 0


@pytest.mark.parametrize("kind", CHUNKS)
def test_verify_names_both_of_two_swapped_chunks(root: Path, kind: str) -> None:
    one, other = chunk(root, kind), chunk(root, kind, 1)
    swap(root / one, root / other)
    said = assert_named(root, one, other)
    assert all(f"{key} holds the content of " in said for key in (one, other))


def test_verify_names_an_edited_description_a_foreign_file_and_a_damaged_table(root: Path) -> None:
    for array in (
        "gram.zarr/wave/gram",
        "combined.zarr/wave/regression/unif",
        "weights.zarr/columns/regression/alignf",
    ):
        path = root / array / "zarr.json"
        content = path.read_bytes()
        for damage in DESCRIPTIONS.values():
            damage(path)
            assert_named(root, f"{array}/zarr.json")
            path.write_bytes(content)
    (root / "gram.zarr/wave/gram/c/0/7").mkdir()
    (root / "gram.zarr/wave/gram/c/0/7/7").write_bytes(b"from elsewhere")
    flip(root / "results/rows.csv", 50)
    (root / "results/summary.md").unlink()
    said = assert_named(root, "gram.zarr/wave/gram/c/0/7/7", "results/rows.csv", "results/summary.md")
    assert "gram.zarr/wave/gram/c/0/7/7 is not recorded in the ledger" in said


def damage_all_kinds(root: Path, first: int) -> set[str]:
    """Damage a chunk of each kind in a different way, swap two chunks, and edit a description; return the keys."""
    damages = list(DAMAGES.values())
    keys = {chunk(root, kind) for kind in CHUNKS}
    for number, key in enumerate(sorted(keys)):
        damages[(first + number) % len(damages)](root / key)
    one, other = "combined.zarr/wave/regression/alignf/c/0/0/1", "combined.zarr/wave/regression/alignf/c/2/0/1"
    swap(root / one, root / other)
    described = "statistics.zarr/wave/regression/a/zarr.json"
    list(DESCRIPTIONS.values())[first % len(DESCRIPTIONS)](root / described)
    return {*keys, one, other, described}


AGAIN = {DATA: 1, COLUMNS: 1, TILES: 1, REDUCE: 1, ALIGNF: 1, UNIF: 1, "combine/wave/regression/alignf/0": 1}


def test_repair_fixes_every_kind_of_damage_and_nothing_else(root: Path, undisturbed: Path) -> None:
    keys = damage_all_kinds(root, 0)
    flip(root / "results/path.csv", 50)
    keys |= {"results/path.csv"}
    assert_named(root, *keys)
    repaired = pipeline("verify", root, "--repair", cwd=root.parent)
    assert repaired.returncode == 0, repaired.stderr
    assert all(f"\n{key} " in f"\n{repaired.stdout}" for key in keys)
    assert f"Repaired {len(keys)} problems." in repaired.stdout
    assert_same_and_tidy(root, undisturbed)
    assert added(root, undisturbed) == AGAIN


@pytest.mark.parametrize(("how", "first"), [("run", 3), ("resume", 6)])
def test_full_check_before_a_run_is_resumed_repairs_damage(root: Path, undisturbed: Path, how: str, first: int) -> None:
    damage_all_kinds(root, first)
    arguments = ("run", "tiny.toml", "--out", root) if how == "run" else ("resume", root)
    done = pipeline(*arguments, "--verify", "full", cwd=root.parent)
    assert done.returncode == 0, done.stderr
    assert "it is computed again" in done.stdout
    assert_same(root, undisturbed)
    assert added(root, undisturbed) == AGAIN


def test_damage_missed_by_a_quick_check_is_repaired_when_a_task_reads_it(root: Path, undisturbed: Path) -> None:
    again = "fits/wave/regression/unif/0"
    rewrite_ledger(root, lambda name: name != again)
    flip(root / "combined.zarr/wave/regression/unif/c/0/0/1", 6000)
    done = pipeline("resume", root, cwd=root.parent)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert_same_and_tidy(root, undisturbed)
    assert lines(root)[again] == 1
    assert added(root, undisturbed) == {UNIF: 1}


def test_damage_missed_by_a_quick_check_is_repaired_when_the_tables_read_it(root: Path, undisturbed: Path) -> None:
    rewrite_ledger(root, lambda name: name != "tables")
    shutil.rmtree(root / "results")
    flip(root / "statistics.zarr/wave/regression/alignment/c/1/0", 9)
    done = pipeline("resume", root, cwd=root.parent)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert_same(root, undisturbed)
    assert added(root, undisturbed) == {REDUCE: 1}


def test_ledger_entry_of_an_absent_chunk_is_reported_as_missing(root: Path) -> None:
    ledger = Ledger(LocalStorage(root))
    entry = ledger.read().tasks["fits/wave/regression/l2-krr/0"]  # no task depends on it
    absent = "weights.zarr/wave/regression/l2-krr/c/9/0"
    size = next(iter(entry.digests.values())).partition(":")[2]
    ledger.append(replace(entry, digests=entry.digests | {absent: f"00000000:{size}"}))
    ledger.close()
    assert f"{absent} is missing" in assert_named(root, absent)
