import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernel_pipeline import __version__
from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import read_config, shipped_configs
from kernel_pipeline.plan.work import Rates
from kernel_pipeline.text import format_bytes
from tests.helpers.build import PROJECT, ROWS, config_values, listing, parsed, put, put_config, synthetic_values

HEAVY = ("numpy", "pandas", "dask", "distributed", "zarr", "sklearn", "scipy", "pydantic", "rich", "osqp")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*arguments: str) -> str:
    """Run a command that must succeed, and return what it prints."""
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


def test_the_help_is_shown_without_a_command() -> None:
    result = CliRunner().invoke(main, [])
    assert "Usage:" in result.output
    assert "Traceback" not in result.output


def test_configs_lists_the_shipped_ones_with_their_descriptions() -> None:
    lines = shown("configs").splitlines()
    assert [line.split()[0] for line in lines] == list(shipped_configs())
    for line in lines:
        assert line.endswith(read_config(line.split()[0])[0].description)


@pytest.mark.parametrize("name", [None, *shipped_configs()])
def test_config_show_prints_toml_that_reads_back_as_the_same_config(name: str | None) -> None:
    text = shown("config", "show", *([] if name is None else [name]))
    assert parsed(tomllib.loads(text)) == read_config(name)[0]


def test_config_show_of_a_file_with_settings(folder: Path) -> None:
    put_config(folder, synthetic_values())
    values = tomllib.loads(shown("config", "show", "sweep.toml", "--set", "protocol.folds=4", "--set", "seed=9"))
    assert values["protocol"]["folds"] == 4
    assert values["seed"] == 9
    assert values["storage"]["tile"] == 4


def test_plan_of_the_default_config() -> None:
    text = shown("plan", "--set", "baselines=false")
    methods = "unif, align, alignf, alignf-linear, best-kernel, l1-svm, l2-krr, align-krr, each-kernel"
    assert text.startswith(f"default: methods {methods}; 5 folds; 16 ridges, 12 values of C")
    # 569 rows make two tiles of 512 per side, so three on and above the diagonal; 442 rows fit in a single tile.
    # Each has 10 kernels, and 5 methods of two stages in 5 trials. The 400 digits have 6 kernels and 10 label columns.
    # Sums by pair of folds, by row and on the diagonal, features, labels, the order and the folds come on top, and in
    # each trial M and M_test, also debiased, 13 statistics of the kernels and 4 norms, and weights, certificates and
    # predictions of 5 to 7 methods.
    sums = {
        m: 5 * 5 * p * (p + labels) + (5 + 1) * p * m for m, p, labels in ((569, 10, 1), (442, 10, 1), (400, 6, 10))
    }
    statistics = {
        methods: 5 * (4 * p * p + 15 * p + 4 + methods * (p + 1)) for methods, p in ((6, 10), (7, 10), (5, 6))
    }
    predictions = {
        methods: 5 * methods * m * columns for methods, m, columns in ((6, 569, 1), (7, 442, 1), (5, 400, 10))
    }
    statistics = {methods: floats + predictions[methods] for methods, floats in statistics.items()}
    # A checksum for each chunk: 26 per tile, 4 sums, 4 of the data, and in each trial 21 statistics and 3 per method.
    bytes_ = {
        "breast-cancer": 8 * (3 * 35 * 512**2 + sums[569] + 569 * 33 + statistics[6]) + 4 * (3 * 26 + 8 + 5 * 39),
        "diabetes": 8 * (1 * 35 * 442**2 + sums[442] + 442 * 13 + statistics[7]) + 4 * (26 + 8 + 5 * 42),
        "digits": 8 * (1 * 31 * 400**2 + sums[400] + 400 * (64 + 10 + 2) + statistics[5]) + 4 * (26 + 8 + 5 * 36),
    }
    # A batch of tiles, a reduction, 5 tasks of weights, 5 of a batch of combinations; in 5 trials a fit of each method
    # that fits the task, of which 5 + 1, 5 + 2 or 5 learn weights and the last takes all kernels at once.
    tasks = {"breast-cancer": 12 + 5 * (6 + 1), "diabetes": 12 + 5 * (7 + 1), "digits": 12 + 5 * (5 + 1)}
    for dataset, size in bytes_.items():
        row = next(line for line in text.splitlines() if dataset in line)
        assert format_bytes(size) in row
        assert f" {tasks[dataset]} " in row
    assert "141 tasks: tiles 3, reduce 3, weights 15, combine 15, fits 105" in text
    assert f"{format_bytes(sum(bytes_.values()))} on disk" in text
    assert "note: l1-svm on diabetes (regression): left out, since it supports only classification\n" in text
    for method in ("l2-krr", "align-krr"):
        both = "breast-cancer (classification), digits (classification)"
        assert f"note: {method} on {both}: left out, since it supports only regression\n" in text
    assert "note: l1-svm on digits (classification): left out, since it supports only two classes\n" in text


def test_plan_of_a_small_sweep_worked_out_by_hand(folder: Path) -> None:
    put_config(folder, synthetic_values())
    text = shown("plan", "sweep.toml")
    # 10 rows in tiles of 4 make 3 per side, 6 on and above the diagonal; a number has 8 bytes, a chunk's checksum 4.
    tiles, number = 6, 4 * 4 * 8
    gram = tiles * (2 * number + 4)  # 2 kernels
    combined = tiles * 2 * 3 * (number + 4)  # 2 methods in 3 trials
    sums = 8 * (3 * 3 * 2 * (2 + 1) + (3 + 1) * 2 * 10)  # by pair of folds, and by row and on the diagonal
    sums += 4 * 4
    data = 8 * 10 * (5 + 3) + 4 * 4  # 5 features, a label, the order and the folds
    # M and M_test, both also debiased, 13 of each kernel, 2 norms and 2 debiased ones
    statistics = 3 * (8 * (4 * 2 * 2 + 13 * 2 + 4) + 19 * 4)
    weights = 3 * 2 * (8 * (2 + 1) + 2 * 4)  # with a certificate
    predictions = 3 * 2 * (8 * 10 + 4)
    size = format_bytes(gram + combined + sums + data + statistics + weights + predictions)
    assert size == "9.85 KiB"
    # a batch of tiles, a reduction, 2 tasks of weights for all trials, a batch of combinations for each, 6 fits
    lines = text.splitlines()
    headings = next(line for line in lines if "kernels" in line and "tiles" in line)
    row = next(line for line in lines if line.lstrip().startswith("made"))
    # Numbers are right-aligned: each ends where its heading ends.
    cells = {name: row[: headings.index(name) + len(name)].split()[-1] for name in ("kernels", "tiles", "tasks")}
    assert cells == {"kernels": "2", "tiles": "6", "tasks": "12"}
    assert f" {size} " in row
    assert "12 tasks: tiles 1, reduce 1, weights 2, combine 2, fits 6; 9.85 KiB on disk" in text


def test_plan_names_the_columns_of_views(folder: Path) -> None:
    kernels = [{"family": "gaussian", "log2_gamma": [0, 2], "columns": ["1-3"], "name": "middle"}]
    put_config(folder, synthetic_values(kernels=kernels))
    text = shown("plan", "sweep.toml")
    assert "made: kernels[0] (middle): gaussian on 3 of 5 columns: 1, 2, 3\n" in text


def test_plan_shows_the_memory_limit_of_workers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_config(folder, synthetic_values())
    monkeypatch.setattr("kernel_pipeline.cluster.worker_limits", lambda profile: (profile.jobs or 5, 3 << 30))
    assert "each worker may use 3 GiB (5 workers)." in shown("plan", "sweep.toml")
    assert "each worker may use 3 GiB (2 workers)." in shown("plan", "sweep.toml", "--workers", "2")


def test_plan_is_the_same_for_any_number_of_workers(folder: Path) -> None:
    put_config(folder, synthetic_values())
    one, two = (shown("plan", "sweep.toml", "--workers", count) for count in ("1", "2"))
    different = [(a, b) for a, b in zip(one.splitlines(), two.splitlines(), strict=True) if a != b]
    depending = ("each worker may use", "Estimated time with ")
    assert all(any(text in a and text in b for text in depending) for a, b in different)


def test_plan_estimates_the_time_of_each_stage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_config(folder, synthetic_values())
    rates = Rates(flops=1e12, entries=11.0, memory_bytes=1e12)  # only the 2 x 55 entries of the kernels take time
    monkeypatch.setattr("kernel_pipeline.plan.calibration.measure_rates", lambda: rates)
    text = shown("plan", "sweep.toml", "--workers", "2")
    assert "Estimated time with 2 workers as fast as this machine: 10 s (tiles 10 s, reduce 0.0 s, weights" in text


def test_plan_shows_what_a_sweep_that_is_too_large_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_config(folder, synthetic_values())
    monkeypatch.setattr("kernel_pipeline.store.local_storage.LocalStorage.free_bytes", lambda root: 900)
    text = shown("plan", "sweep.toml")
    assert "9.85 KiB on disk, in tiles of 4 x 4; 900 B are free." in text
    assert "note: the arrays of this sweep need 9.85 KiB, but the folder of runs has 900 B free. Choose another" in text
    put_config(folder, synthetic_values(rows=3000))
    monkeypatch.setattr("kernel_pipeline.cluster.worker_limits", lambda profile: (4, 544 << 20))
    result = CliRunner().invoke(main, ["plan", "sweep.toml", "--set", "storage.tile=500"])
    assert result.exit_code == 2
    assert "each of the 4 worker(s) may use 544 MiB. Use fewer workers (--workers 3), workers with" in result.stderr
    assert "fewer rows (3000 now; about" in result.stderr


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


def test_status_of_a_directory_that_is_not_a_run(folder: Path) -> None:
    result = CliRunner().invoke(main, ["status", "absent"])
    assert result.exit_code == 4
    assert result.stderr.startswith("Error: absent is not a run directory")


def test_start_imports_nothing_heavy() -> None:
    """Check imports, since the time that `pipeline --help` takes depends on the machine."""
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
    assert {"kernel_pipeline", "click"} <= imported  # the lines are parsed correctly
    assert imported.isdisjoint(HEAVY)


@pytest.mark.parametrize("wrapped", [False, True])
def test_ctrl_c_while_modules_are_imported_gives_one_message(wrapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        if wrapped:  # as Python 3.11 does while it creates a class
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("kernel_pipeline.config.loading.shipped_configs", interrupted)
    result = CliRunner().invoke(main, ["configs"])
    assert result.exit_code == 130
    assert result.stderr == "Stopped. The same command resumes the run.\n"
