"""Files in a run directory that are not of the run: named, left in place, and never reached through a link."""

import shutil
from pathlib import Path

import pytest

from tests.faults.forgeries import CONFIG
from tests.faults.harness import command, no_workers, write_config

pytestmark = pytest.mark.faults

FOREIGN = ("results/thesis.txt", "gram.zarr/notes.txt", "combined.zarr/wave/notes.txt", "results/draft.partial")
DAMAGED = "combined.zarr/wave/regression/unif/c/0/0/0"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    config = write_config(folder, CONFIG)
    assert said("run", config, "--out", folder / "run")
    return folder / "run"


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    return shutil.copytree(base, tmp_path / "run")


def said(*arguments: str | Path, code: int = 0) -> str:
    with no_workers():
        done = command(*arguments)
    assert done.exit_code == code, done.output
    return done.output


def put_foreign_files(root: Path) -> None:
    for key in FOREIGN:
        (root / key).write_text("mine")


def assert_left(root: Path) -> None:
    assert {key: (root / key).read_text() for key in FOREIGN} == dict.fromkeys(FOREIGN, "mine")


def test_verify_names_foreign_files_and_repair_leaves_them(root: Path) -> None:
    put_foreign_files(root)
    shown = said("verify", root, code=4)
    assert all(f"{key} belongs to no finished task" in shown for key in FOREIGN)
    assert "4 files do not belong to this run, and are left in place." in shown
    (root / DAMAGED).unlink()
    repaired = said("verify", root, "--repair")
    assert "Repaired 1 problem.\n4 files that do not belong to this run are left in place." in repaired
    assert "Repaired 0 problems." in said("verify", root, "--repair")
    assert_left(root)


def test_clean_and_resume_leave_foreign_files(root: Path) -> None:
    put_foreign_files(root)
    said("resume", root)
    assert_left(root)
    shown = said("clean", root)
    assert "combined.zarr/wave/notes.txt does not belong to this run, and is left in place" in shown
    assert_left(root)
    assert [path.name for path in (root / "combined.zarr/wave").iterdir()] == ["notes.txt"]
    assert not (root / "data.zarr/wave/features").exists()


def test_tables_that_are_written_again_do_not_adopt_foreign_files(root: Path) -> None:
    put_foreign_files(root)
    (root / "results/rows.csv").unlink()
    said("resume", root)
    assert "results/thesis.txt belongs to no finished task" in said("verify", root, code=4)


def test_a_folder_with_files_in_the_place_of_a_chunk_is_refused_and_an_empty_one_removed(root: Path) -> None:
    (root / DAMAGED).unlink()
    (root / DAMAGED / "inner").mkdir(parents=True)
    said("resume", root)
    assert (root / DAMAGED).is_file()
    (root / DAMAGED).unlink()
    (root / DAMAGED).mkdir()
    (root / DAMAGED / "mine.txt").touch()
    assert "is a folder that contains files, in place of a file of the run" in said("resume", root, code=4)
    assert (root / DAMAGED / "mine.txt").exists()


def test_only_config_and_environment_are_restored(root: Path) -> None:
    for key in ("config.toml", "environment.json", "results/rows.csv"):
        (root / key).unlink()
    restored = said("resume", root)
    assert [line for line in restored.splitlines() if "is restored" in line] == [
        "config.toml differs from the ledger, and is restored",
        "environment.json differs from the ledger, and is restored",
    ]


def test_a_run_directory_may_be_reached_through_a_link(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    (root / DAMAGED).unlink()
    link = root.parent / "link"
    assert f"{DAMAGED} is missing" in said("verify", link, code=4)
    said("resume", link)
    assert "files are intact." in said("verify", link)
    said("clean", link)
    assert not (root / "combined.zarr/wave").exists()
