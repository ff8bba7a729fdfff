"""Files in a run directory that do not belong to the run are reported, left in place, and not reached by links."""

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
    assert output_of("run", config, "--out", folder / "run")
    return folder / "run"


@pytest.fixture
def root(base: Path, tmp_path: Path) -> Path:
    return shutil.copytree(base, tmp_path / "run")


def output_of(*arguments: str | Path, code: int = 0) -> str:
    with no_workers():
        done = command(*arguments)
    assert done.exit_code == code, done.output
    return done.output


def put_foreign_files(root: Path) -> None:
    for key in FOREIGN:
        (root / key).write_text("mine")


def assert_foreign_files_unchanged(root: Path) -> None:
    assert {key: (root / key).read_text() for key in FOREIGN} == dict.fromkeys(FOREIGN, "mine")


def test_verify_names_foreign_files_and_repair_leaves_them(root: Path) -> None:
    put_foreign_files(root)
    shown = output_of("verify", root, code=4)
    assert all(f"{key} is not recorded in the ledger" in shown for key in FOREIGN)
    assert "4 files do not belong to this run, and are left in place." in shown
    (root / DAMAGED).unlink()
    repaired = output_of("verify", root, "--repair")
    assert "Repaired 1 problem.\n4 files that do not belong to this run are left in place." in repaired
    assert "Repaired 0 problems." in output_of("verify", root, "--repair")
    assert_foreign_files_unchanged(root)


def test_clean_and_resume_leave_foreign_files(root: Path) -> None:
    put_foreign_files(root)
    output_of("resume", root)
    assert_foreign_files_unchanged(root)
    shown = output_of("clean", root)
    assert "combined.zarr/wave/notes.txt does not belong to this run, and is left in place" in shown
    assert_foreign_files_unchanged(root)
    assert [path.name for path in (root / "combined.zarr/wave").iterdir()] == ["notes.txt"]
    assert not (root / "data.zarr/wave/features").exists()


def test_foreign_files_do_not_become_tables_when_tables_are_written_again(root: Path) -> None:
    put_foreign_files(root)
    (root / "results/rows.csv").unlink()
    output_of("resume", root)
    assert "results/thesis.txt is not recorded in the ledger" in output_of("verify", root, code=4)


def test_folder_in_place_of_a_chunk_is_removed_if_empty_and_refused_otherwise(root: Path) -> None:
    (root / DAMAGED).unlink()
    (root / DAMAGED / "inner").mkdir(parents=True)
    output_of("resume", root)
    assert (root / DAMAGED).is_file()
    (root / DAMAGED).unlink()
    (root / DAMAGED).mkdir()
    (root / DAMAGED / "mine.txt").touch()
    assert "is a folder that contains files; a run writes a file of this name" in output_of("resume", root, code=4)
    assert (root / DAMAGED / "mine.txt").exists()


def test_only_config_and_environment_are_restored(root: Path) -> None:
    for key in ("config.toml", "environment.json", "results/rows.csv"):
        (root / key).unlink()
    restored = output_of("resume", root)
    assert [line for line in restored.splitlines() if "is restored" in line] == [
        "config.toml differs from the ledger, and is restored",
        "environment.json differs from the ledger, and is restored",
    ]


def test_a_run_directory_may_be_reached_through_a_link(root: Path) -> None:
    (root.parent / "link").symlink_to(root)
    (root / DAMAGED).unlink()
    link = root.parent / "link"
    assert f"{DAMAGED} is missing" in output_of("verify", link, code=4)
    output_of("resume", link)
    assert "files are intact." in output_of("verify", link)
    output_of("clean", link)
    assert not (root / "combined.zarr/wave").exists()
