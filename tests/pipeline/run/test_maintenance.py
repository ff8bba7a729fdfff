"""The list of finished and unfinished runs, and the cleaning of finished ones."""

import io
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from kernel_pipeline.cli.main import main
from kernel_pipeline.cli.maintenance_view import print_cleaning, print_runs
from kernel_pipeline.errors import RefusedError
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.maintenance import clean_run, list_runs
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.lock import locked
from tests.helpers.build import listing
from tests.helpers.sweeps import fail, flip, plan_in, resume_here, run_here, small_config, smaller_config

WEIGHTS = "weights/wave/regression/alignf/0-2"


def listed_runs(folder: Path) -> dict[str, str]:
    """Return the lines of the list by the name of the run."""
    said = io.StringIO()
    print_runs(Console(file=said, width=300), str(folder), list_runs(LocalStorage(folder)))
    heading, *lines = said.getvalue().splitlines()
    assert heading.split() == ["run", "state", "size", "age"]
    return {Path(line.split()[0]).name: " ".join(line.split()[1:]) for line in lines}


def clean(root: Path) -> str:
    said = io.StringIO()
    print_cleaning(Console(file=said, width=200), clean_run(LocalStorage(root)))
    return said.getvalue()


def verify(root: Path) -> tuple[int, str]:
    shown = CliRunner().invoke(main, ["verify", str(root)])
    return shown.exit_code, shown.stdout


def test_a_run_whose_files_are_being_changed_can_be_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = os.walk

    def before_one_vanished(top: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for folder, inner, names in walk(top):
            yield folder, inner, [*names, ".0.ab12.partial"]

    monkeypatch.setattr("kernel_pipeline.store.local_storage.os.walk", before_one_vanished)
    assert listed_runs(root.parent)["run"].startswith("done")


def test_the_list_shows_the_state_of_every_run(finished: tuple[Path, Plan], tmp_path: Path) -> None:
    for name in ("done", "freed", "failed", "damaged", "foreign", "newer"):
        shutil.copytree(finished[0], tmp_path / name)
    plan_in(tmp_path / "begun", smaller_config())
    (tmp_path / "no-run").mkdir()
    clean(tmp_path / "freed")
    fail(tmp_path / "failed", finished[1], WEIGHTS, "it was too hot")
    assert resume_here(tmp_path / "failed")[0] == 3
    flip(tmp_path / "damaged/ledger.jsonl")
    (tmp_path / "foreign/lock").write_text(json.dumps({"host": "another", "pid": 7, "since": "noon"}))
    environment = tmp_path / "newer/environment.json"
    environment.write_text(environment.read_text().replace(f'"format": {FORMAT}', '"format": 9'))
    with locked(tmp_path / "done"):
        busy = listed_runs(tmp_path)["done"]
    assert busy.startswith(f"running: process {os.getpid()} on ")
    lines = {name: line.rsplit(maxsplit=4)[0] for name, line in listed_runs(tmp_path).items()}
    assert lines.pop("damaged").endswith("line 1 is not a ledger line: another program changed the file")
    assert lines.pop("newer").endswith(
        f"has format 9, which a newer version of this package wrote; this version reads formats 2 to {FORMAT}"
    )
    assert lines == {
        "begun": "unfinished, 0 tasks are done",
        "done": "done",
        "failed": "done, 1 task failed",
        "foreign": "running: process 7 on another, since noon",
        "freed": "done, cleaned",
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (59 * 60, "59 min"), (3601, "1 h"), (47 * 3600, "47 h"), (49 * 3600, "2 days"), (-99, "0 min")],
)
def test_the_age_is_that_of_the_last_finished_task(root: Path, seconds: int, text: str) -> None:
    when = time.time() - seconds
    os.utime(root / "ledger.jsonl", (when, when))
    assert listed_runs(root.parent)["run"].endswith(f" {text}")


def test_a_folder_without_runs_and_a_missing_folder(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["runs", str(tmp_path)])
    assert (shown.exit_code, shown.output) == (0, f"There are no runs in {tmp_path}.\n")
    shown = CliRunner().invoke(main, ["runs", str(tmp_path / "absent")])
    assert shown.exit_code == 4
    assert shown.output.startswith(f"Error: there is no folder {tmp_path}/absent")


def test_cleaning_removes_the_large_arrays_and_changes_nothing_else(root: Path) -> None:
    before = listing(root)
    said = clean(root)
    after = listing(root)
    ledger = after.pop("ledger.jsonl"), before.pop("ledger.jsonl")
    assert ledger[0] is not None
    assert ledger[1] is not None
    assert ledger[0].startswith(ledger[1])
    assert after.items() <= before.items()
    big = ("gram.zarr/{}/gram/", "combined.zarr/{}/", "data.zarr/{}/features/", "statistics.zarr/{}/sums/")
    places = [place.format(dataset) for dataset in ("wave", "flowers") for place in big]
    gone = before.keys() - after.keys()
    assert gone
    assert {any(f"{name}/".startswith(place) for place in places) for name in gone} == {True}
    assert not any(f"{name}/".startswith(tuple(places)) for name in after)
    assert said.startswith("Freed ")
    assert said.endswith("; tables, statistics, weights and the ledger are kept.\n")


def test_a_cleaned_run_is_intact_and_has_nothing_to_do(root: Path) -> None:
    clean(root)
    before = listing(root)
    code, said = verify(root)
    assert (code, said.endswith(" files are intact.\n")) == (0, True)
    code, said = resume_here(root)
    assert code == 0
    assert " 0 of 34 tasks to do" in said
    after = listing(root)
    del before["logs/driver.log"], after["logs/driver.log"]
    assert after == before


def test_a_cleaned_run_in_which_a_cell_failed_has_nothing_to_do_either(finished: tuple[Path, Plan], root: Path) -> None:
    fail(root, finished[1], WEIGHTS, "it was too hot")
    assert resume_here(root)[0] == 3
    clean(root)
    assert verify(root)[0] == 0
    code, said = resume_here(root)
    assert code == 3
    assert " 0 of 34 tasks to do" in said
    assert verify(root)[0] == 0


def test_cleaning_twice_frees_nothing_more(root: Path) -> None:
    clean(root)
    before = {name: content for name, content in listing(root).items() if name != "ledger.jsonl"}
    clean(root)
    assert {name: content for name, content in listing(root).items() if name != "ledger.jsonl"} == before
    assert verify(root)[0] == 0


def test_damage_in_a_cleaned_run_is_detected(root: Path) -> None:
    clean(root)
    flip(root / "weights.zarr/wave/regression/alignf/c/1/0")
    code, said = verify(root)
    assert code == 4
    assert "weights.zarr/wave/regression/alignf/c/1/0 is damaged\n" in said


def test_an_unfinished_run_is_not_cleaned(tmp_path: Path) -> None:
    run_here(tmp_path, smaller_config())
    before = listing(tmp_path)
    with pytest.raises(RefusedError, match=f"is not finished. `pipeline resume {tmp_path}` resumes the run"):
        clean(tmp_path)
    assert listing(tmp_path) == before


def test_a_run_in_use_is_not_cleaned(root: Path) -> None:
    before = listing(root)
    with locked(root), pytest.raises(RefusedError, match="is in use"):
        clean(root)
    assert listing(root) == before


@pytest.mark.parametrize("options", [(), ("--keep", "results")])
def test_the_command_needs_only_the_directory(root: Path, options: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, ["clean", str(root), *options])
    assert shown.exit_code == 0, shown.output
    assert shown.output.startswith("Freed ")
    assert not (root / "gram.zarr/wave/gram").exists()
    assert (root / "results/rows.csv").exists()


@pytest.mark.parametrize("name", ["empty", "absent"])
def test_a_folder_that_is_not_a_run_is_not_cleaned(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    shown = CliRunner().invoke(main, ["clean", str(tmp_path / name)])
    assert shown.exit_code == 4
    assert "is not a run directory" in shown.output
    assert listing(tmp_path) == {"empty": None}


@pytest.mark.parametrize("command", ["verify", "status", "resume", "unlock", "clean", "report"])
@pytest.mark.parametrize("inner", ["config.toml", "results/rows.csv", "absent"])
def test_a_path_inside_of_a_run_directory_is_refused_with_the_directory(
    command: str, inner: str, finished: tuple[Path, Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my run").symlink_to(finished[0])
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(main, [command, f"my run/{inner}"])
    assert shown.exit_code == 4
    expected = f"Error: my run/{inner} is not a run directory, but inside of one. Use the run directory: 'my run'\n"
    assert shown.output == expected
    Path("config.toml").touch()  # a config of the user does not make its folder a run directory
    assert "inside of one" not in CliRunner().invoke(main, [command, "absent"]).output


def test_cleaning_removes_the_sums_of_all_repeats(tmp_path: Path) -> None:
    run_here(tmp_path, small_config(protocol={"folds": 3, "repeats": 2}))
    assert resume_here(tmp_path)[0] == 0  # writes the tables
    assert any("/repeats/" in name for name in listing(tmp_path))
    clean(tmp_path)
    assert not [name for name in listing(tmp_path) if "/sums/" in name]
    assert verify(tmp_path)[0] == 0
