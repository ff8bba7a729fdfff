"""Config, environment and ledger of a directory: damaged, lost, or written by another version of this package."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pipeline.run.environment import FORMAT
from tests.faults.harness import added, assert_same, command, flip, lines, listing, rewrite_ledger
from tests.helpers.sweeps import pipeline

pytestmark = pytest.mark.faults

ASSETS = Path(__file__).parents[1] / "assets"
# Runs of earlier formats, by archive.
EARLIER = {"run-format-2.zip": 2, "run-format-3.zip": 3, "run-format-4.zip": 4}
FIT = "fits/wave/regression/unif/0"


def assert_refused(root: Path, *words: str) -> None:
    """Check that all commands that read a directory refuse it with these messages and change nothing."""
    before = listing(root)
    for name in ("verify", "status", "resume"):
        found = command(name, root)
        assert found.exit_code == 4, found.output
        assert all(word in found.output for word in words), found.output
        assert "Traceback" not in found.output
    assert listing(root) == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: flip(path, 30),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b"\xff\xfe{"),
        lambda path: path.write_text(path.read_text().replace("0", "9", 1)),
        Path.unlink,
    ],
)
@pytest.mark.parametrize("name", ["config.toml", "environment.json"])
def test_damaged_config_or_environment_is_named_and_restored_on_resume(
    root: Path, undisturbed: Path, name: str, damage: Callable[[Path], None]
) -> None:
    damage(root / name)
    found = command("verify", root)
    assert found.exit_code == 4
    assert f"{name} is " in found.output
    assert command("status", root).exit_code == 0  # the ledger holds a copy
    resumed = command("resume", root)
    assert resumed.exit_code == 0, resumed.output
    assert f"{name} differs from the ledger, and is restored" in resumed.output
    assert (root / name).read_bytes() == (undisturbed / name).read_bytes()


def test_config_and_environment_are_restored_exactly_without_running_tasks(root: Path, undisturbed: Path) -> None:
    flip(root / "config.toml", 30)
    (root / "environment.json").unlink()
    repaired = pipeline("verify", root, "--repair", cwd=root.parent)
    assert repaired.returncode == 0, repaired.stderr
    for name in ("config.toml", "environment.json"):
        assert f"{name} is restored" in repaired.stdout
        assert (root / name).read_bytes() == (undisturbed / name).read_bytes()
    assert_same(root, undisturbed)
    assert added(root, undisturbed) == {}


def test_garbage_and_changed_numbers_in_the_ledger_are_refused_and_repaired(root: Path, undisturbed: Path) -> None:
    ledger = root / "ledger.jsonl"
    content = ledger.read_bytes().splitlines(True)
    number = next(number for number, line in enumerate(content, 1) if json.loads(line)["name"] == FIT)
    values = json.loads(content[number - 1])
    values["result"]["path"]["test_errors"][0] += 1e-9
    content[number - 1] = json.dumps(values).encode() + b"\n"
    ledger.write_bytes(b"".join(content))
    assert_refused(root, f"ledger.jsonl, line {number} is not a ledger line", "--repair")
    ledger.write_bytes(b"".join((*content[:4], b"garbage\n", *content[4:])))
    assert_refused(root, "ledger.jsonl, line 5 is not a ledger line", "--repair")
    repaired = pipeline("verify", root, "--repair", cwd=root.parent)
    assert repaired.returncode == 0, repaired.stderr
    assert f"line {number + 1} is not a ledger line" in repaired.stdout
    assert lines(root)[FIT] == 1
    assert added(root, undisturbed) == {}
    assert_same(root, undisturbed)


def test_lost_ledger_lines_are_restored_by_repair(root: Path, undisturbed: Path) -> None:
    lost = ("sweep", "data/wave", "combine/wave/regression/unif/0")
    content = (root / "ledger.jsonl").read_bytes().splitlines(True)
    spoilt = [line.replace(b"0", b"1", 1) if json.loads(line)["name"] in lost else line for line in content]
    (root / "ledger.jsonl").write_bytes(b"".join(spoilt))
    repaired = pipeline("verify", root, "--repair", cwd=root.parent)
    assert repaired.returncode == 0, repaired.stderr
    assert_same(root, undisturbed)
    assert [lines(root)[name] for name in lost] == [1, 1, 1]
    assert added(root, undisturbed) == {}


def test_task_of_a_torn_last_line_runs_again_and_duplicate_lines_are_harmless(root: Path, undisturbed: Path) -> None:
    content = (root / "ledger.jsonl").read_bytes().splitlines(True)
    others = [line for line in content if json.loads(line)["name"] not in (FIT, "tables")]
    torn = next(line for line in content if json.loads(line)["name"] == FIT)[:-30]
    (root / "ledger.jsonl").write_bytes(b"".join((*others, others[3], others[9], torn)))
    shutil.rmtree(root / "results")  # which are written after the last task
    assert command("verify", root).exit_code == 0
    assert "1 is left: 1 not run yet" in command("status", root).output
    done = pipeline("resume", root, cwd=root.parent)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)
    assert added(root, undisturbed) == {json.loads(others[n])["name"]: 1 for n in (3, 9)}


def test_lost_ledger_is_damage_and_everything_is_recomputed(root: Path, undisturbed: Path) -> None:
    (root / "ledger.jsonl").unlink()
    before = listing(root)
    found = command("verify", root)
    assert found.exit_code == 4, found.output
    assert "results/rows.csv is not recorded in the ledger" in found.output
    assert listing(root) == before
    repaired = pipeline("verify", root, "--repair", cwd=root.parent)
    assert repaired.returncode == 0, repaired.stderr
    assert_same(root, undisturbed)
    assert lines(root).keys() == lines(undisturbed).keys()


def test_a_run_whose_first_line_is_lost_is_still_listed(root: Path) -> None:
    rewrite_ledger(root, lambda name: name != "sweep")
    listed = command("runs", root.parent)
    assert listed.exit_code == 0, listed.exception
    assert str(root) in listed.output


def unpack(name: str, folder: Path) -> Path:
    """Unpack a finished run that tests/assets/make_run.py created when its format was current."""
    with zipfile.ZipFile(ASSETS / name) as packed:
        packed.extractall(folder)
    return folder / "small-run"


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    return unpack("run.zip", tmp_path)


@pytest.mark.parametrize(("name", "version"), [("run.zip", None), *EARLIER.items()])
def test_directory_of_an_earlier_version_can_be_read(name: str, version: int | None, tmp_path: Path) -> None:
    unpacked = unpack(name, tmp_path)
    before = listing(unpacked)
    status = command("status", unpacked)
    assert status.exit_code == 0, status.output
    assert "tasks are done" in status.output
    assert "Regression: RMSE" in status.output
    assert "left" not in status.output
    assert ("written by an earlier version" in status.output) == (version is not None)
    assert version is None or f"written by an earlier version (format {version})" in status.output
    verified = command("verify", unpacked)
    assert verified.exit_code == 0, verified.output
    assert "files are intact." in verified.output
    assert "All 0 files" not in verified.output
    listed = command("runs", unpacked.parent)
    assert f"{unpacked}" in listed.output
    assert " done " in listed.output
    assert listing(unpacked) == before


@pytest.mark.parametrize(("name", "version"), EARLIER.items())
def test_damage_in_a_directory_of_an_earlier_format_is_found(name: str, version: int, tmp_path: Path) -> None:
    unpacked = unpack(name, tmp_path)
    flip(unpacked / "gram.zarr/wave/gram/c/0/0/1", 100)
    verified = command("verify", unpacked)
    assert verified.exit_code == 4
    assert "gram.zarr/wave/gram/c/0/0/1 is damaged" in verified.output
    assert "pipeline resume" in verified.output
    before = listing(unpacked)
    repaired = command("verify", unpacked, "--repair")
    assert repaired.exit_code == 4
    assert f"written by an earlier version (format {version})" in repaired.output
    assert listing(unpacked) == before


@pytest.mark.parametrize("name", EARLIER)
def test_run_of_an_earlier_format_is_recomputed_when_resumed(name: str, tmp_path: Path) -> None:
    unpacked = unpack(name, tmp_path)
    before = lines(unpacked)
    done = pipeline("resume", unpacked, "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "finished tasks are outdated and computed again" in done.stdout
    assert json.loads((unpacked / "environment.json").read_text())["format"] == FORMAT
    assert all(lines(unpacked)[name] == 2 * before[name] for name in before if name.startswith(("tiles", "fits")))
    assert "at_edge" in (unpacked / "results/rows.csv").read_text()
    assert command("verify", unpacked).exit_code == 0
    assert "earlier version" not in command("status", unpacked).output


def make_newer(root: Path) -> None:
    """Turn a directory into one of a newer format, whose ledger lines have another field."""
    facts = json.loads((root / "environment.json").read_text()) | {"format": 99}
    (root / "environment.json").write_text(json.dumps(facts))
    content = (root / "ledger.jsonl").read_bytes().splitlines()
    (root / "ledger.jsonl").write_bytes(b"".join(line[:-1] + b', "new": 1}\n' for line in content))


def test_a_directory_of_a_newer_format_is_refused_with_a_clear_message(unpacked: Path) -> None:
    make_newer(unpacked)
    assert_refused(unpacked, "has format 99, which a newer version of this package wrote", "Update this package")
    listed = command("runs", unpacked.parent)
    assert listed.exit_code == 0
    assert "has format 99" in listed.output


@pytest.mark.parametrize("arguments", [("run", "default", "--accept-changes", "--out"), ("verify", "--repair")])
def test_a_directory_of_a_newer_format_is_not_written_to(unpacked: Path, arguments: tuple[str, ...]) -> None:
    make_newer(unpacked)
    before = listing(unpacked)
    done = pipeline(*arguments, unpacked, cwd=unpacked.parent)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "has format 99" in done.stderr
    assert listing(unpacked) == before
