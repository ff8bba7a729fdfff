import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernel_pipeline import __version__
from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import read_config, shipped_configs
from kernel_pipeline.text import format_bytes
from tests.helpers.build import PROJECT, ROWS, config_values, listing, parsed, put, put_config, synthetic_values

HEAVY = ("numpy", "pandas", "dask", "distributed", "zarr", "sklearn", "scipy", "pydantic", "rich", "osqp")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*arguments: str) -> str:
    """What a command prints that only looks."""
    result: Result = CliRunner().invoke(main, list(arguments), env={"COLUMNS": "120"})
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def test_version() -> None:
    assert shown("--version").strip() == f"pipeline, version {__version__}"


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command(option: str) -> None:
    text = shown(option)
    for command in main.commands:
        assert command in text


@pytest.mark.parametrize("command", [*([name] for name in main.commands), ["config", "show"], ["config", "schema"]])
def test_every_command_has_help(command: list[str]) -> None:
    assert "Usage:" in shown(*command, "--help")


def test_no_command_shows_the_help() -> None:
    result = CliRunner().invoke(main, [])
    assert "Usage:" in result.output
    assert "Traceback" not in result.output


def test_configs_lists_the_shipped_ones_with_their_descriptions() -> None:
    lines = shown("configs").splitlines()
    assert [line.split()[0] for line in lines] == list(shipped_configs())
    for line in lines:
        assert line.endswith(read_config(line.split()[0])[0].description)


@pytest.mark.parametrize("name", [None, *shipped_configs()])
def test_config_show_prints_what_reads_back_as_the_same(name: str | None) -> None:
    text = shown("config", "show", *([] if name is None else [name]))
    assert parsed(tomllib.loads(text)) == read_config(name)[0]


def test_config_show_of_a_file_with_settings(folder: Path) -> None:
    put_config(folder, synthetic_values())
    values = tomllib.loads(shown("config", "show", "sweep.toml", "--set", "protocol.folds=4", "--set", "seed=9"))
    assert values["protocol"]["folds"] == 4
    assert values["seed"] == 9
    assert values["storage"]["tile"] == 4


def test_plan_of_the_default_config() -> None:
    text = shown("plan")
    methods = "unif, align, alignf, alignf-linear, best-kernel, l1-svm, l2-krr, align-krr, each-kernel"
    assert text.startswith(f"default: methods {methods}; 5 folds; 16 ridges, 12 values of C")
    # 569 rows make two tiles of 512 a side, so three on and above the diagonal; 442 rows fit in one of their own.
    # Each has 10 kernels, and 5 methods of two stages in 5 trials.
    # Sums by pair of folds, by row and on the diagonal, features, a label, the order and the folds come on top, and in
    # each trial M, M_test, 9 statistics of the kernels and 2 norms, and weights and certificates of 6 or 7 methods.
    sums = {m: 5 * 5 * 10 * (10 + 1) + (5 + 1) * 10 * m for m in (569, 442)}
    statistics = {methods: 5 * (2 * 100 + 9 * 10 + 2 + methods * 11) for methods in (6, 7)}
    # A checksum for each chunk: 26 a tile, 4 sums, 4 of the data, and in each trial 12 statistics and 2 for a method.
    bytes_ = {
        "breast-cancer": 8 * (3 * 35 * 512**2 + sums[569] + 569 * 33 + statistics[6]) + 4 * (3 * 26 + 8 + 5 * 24),
        "diabetes": 8 * (1 * 35 * 442**2 + sums[442] + 442 * 13 + statistics[7]) + 4 * (26 + 8 + 5 * 26),
    }
    # A batch of tiles, a reduction, 5 tasks of weights, 5 of a batch of combinations; in 5 trials a fit of each method
    # that fits the task, of which 5 + 1 or 5 + 2 learn weights and the last takes all kernels at once.
    tasks = {"breast-cancer": 12 + 5 * (6 + 1), "diabetes": 12 + 5 * (7 + 1)}
    for dataset, size in bytes_.items():
        row = next(line for line in text.splitlines() if dataset in line)
        assert format_bytes(size) in row
        assert f" {tasks[dataset]} " in row
    assert "99 tasks: tiles 2, reduce 2, weights 10, combine 10, fits 75" in text
    assert f"{format_bytes(sum(bytes_.values()))} on disk" in text
    assert "note: l1-svm on diabetes (regression): left out, since it is for classification\n" in text
    for method in ("l2-krr", "align-krr"):
        assert f"note: {method} on breast-cancer (classification): left out, since it is for regression\n" in text


def test_plan_of_a_small_sweep_worked_out_by_hand(folder: Path) -> None:
    put_config(folder, synthetic_values())
    text = shown("plan", "sweep.toml")
    # 10 rows in tiles of 4 make 3 a side, 6 on and above the diagonal; a number has 8 bytes, the checksum of a chunk 4.
    tiles, number = 6, 4 * 4 * 8
    gram = tiles * (2 * number + 4)  # 2 kernels
    combined = tiles * 2 * 3 * (number + 4)  # 2 methods in 3 trials
    sums = 8 * (3 * 3 * 2 * (2 + 1) + (3 + 1) * 2 * 10)  # by pair of folds, and by row and on the diagonal
    sums += 4 * 4
    data = 8 * 10 * (5 + 3) + 4 * 4  # 5 features, a label, the order and the folds
    statistics = 3 * (8 * (2 * 2 * 2 + 9 * 2 + 2) + 12 * 4)  # M and M_test, 9 of each kernel, 2 norms
    weights = 3 * 2 * (8 * (2 + 1) + 2 * 4)  # with a certificate
    size = format_bytes(gram + combined + sums + data + statistics + weights)
    assert size == "8.85 KiB"
    # a batch of tiles, a reduction, 2 tasks of weights for all trials, a batch of combinations for each, 6 fits
    lines = text.splitlines()
    headings = next(line for line in lines if "kernels" in line and "tiles" in line)
    row = next(line for line in lines if line.lstrip().startswith("made"))
    # Numbers are right-aligned: each ends where its heading ends.
    cells = {name: row[: headings.index(name) + len(name)].split()[-1] for name in ("kernels", "tiles", "tasks")}
    assert cells == {"kernels": "2", "tiles": "6", "tasks": "12"}
    assert f" {size} " in row
    assert "12 tasks: tiles 1, reduce 1, weights 2, combine 2, fits 6; 8.85 KiB on disk" in text


def test_plan_says_what_workers_may_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_config(folder, synthetic_values())
    monkeypatch.setattr("kernel_pipeline.cluster.worker_limits", lambda profile: (profile.jobs or 5, 3 << 30))
    assert "each of 5 worker(s) may use 3 GiB" in shown("plan", "sweep.toml")
    assert "each of 2 worker(s) may use 3 GiB" in shown("plan", "sweep.toml", "--workers", "2")


def test_plan_is_the_same_for_any_number_of_workers(folder: Path) -> None:
    put_config(folder, synthetic_values())
    one, two = (shown("plan", "sweep.toml", "--workers", count) for count in ("1", "2"))
    different = [(a, b) for a, b in zip(one.splitlines(), two.splitlines(), strict=True) if a != b]
    assert all("worker(s) may use" in a and "worker(s) may use" in b for a, b in different)


def test_plan_too_large_is_shown_and_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_config(folder, synthetic_values())
    monkeypatch.setattr("kernel_pipeline.cluster.worker_limits", lambda profile: (2, 1 << 20))
    result = CliRunner().invoke(main, ["plan", "sweep.toml"])
    assert result.exit_code == 2
    assert "12 tasks" in result.stdout
    assert result.stderr.startswith("Error: dataset 'made'")
    assert "1 MiB" in result.stderr


def test_plan_writes_nothing(folder: Path) -> None:
    put_config(folder, config_values())
    put(folder, ROWS)
    before = listing(folder)
    shown("plan", "sweep.toml")
    assert listing(folder) == before


def test_status_of_what_is_no_run(folder: Path) -> None:
    result = CliRunner().invoke(main, ["status", "absent"])
    assert result.exit_code == 4
    assert result.stderr.startswith("Error: absent is not a run directory")


def test_start_imports_nothing_heavy() -> None:
    """That is what makes `pipeline --help` fast; its time itself depends on the machine."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import kernel_pipeline.cli.main"],
        capture_output=True,
        text=True,
        check=True,
        cwd=PROJECT,
    )
    imported = {
        line.rsplit("|", 1)[1].strip().partition(".")[0]
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert {"kernel_pipeline", "click"} <= imported  # the lines are read rightly
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("wrapped", [False, True])
def test_ctrl_c_while_modules_are_imported_is_one_sentence(wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        if wrapped:  # as Python 3.11 does where a class is made
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("kernel_pipeline.config.loading.shipped_configs", interrupted)
    result = CliRunner().invoke(main, ["configs"])
    assert result.exit_code == 130
    assert result.stderr == "Stopped. The same command continues from here.\n"
