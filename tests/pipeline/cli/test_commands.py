"""The command line with real worker processes: complete runs of `pipeline run`."""

import json
import os
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import tomli_w
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import SMALL, flip, forget, note, pipeline, plan_in, small_config, start

SAME_BYTES = (
    *("rows.csv", "rows.parquet", "path.csv", "kernels.csv", "bounds.csv"),
    *("summary.csv", "summary.md", "summary.tex"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a config and a finished run of it in `two`."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "small.toml").write_text(tomli_w.dumps(SMALL))
    done = pipeline("run", "small.toml", "--cluster", "local", "--workers", "2", "--out", "two", cwd=folder)
    assert done.returncode == 0, done.stderr
    (folder / "two.txt").write_text(done.stdout)
    return folder


def tables(root: Path) -> dict[str, bytes]:
    return {name: (root / "results" / name).read_bytes() for name in SAME_BYTES}


def names(root: Path) -> list[str]:
    """Return the names in the complete lines of the ledger, in order; none if there is no ledger yet."""
    path = root / "ledger.jsonl"
    return [json.loads(line)["name"] for line in path.read_bytes().split(b"\n")[:-1]] if path.exists() else []


def test_output_describes_the_run_and_ends_with_the_summary_and_paths(folder: Path) -> None:
    output = (folder / "two.txt").read_text()
    assert "small: 2 datasets, 4 methods, 4 trials" in output
    assert output.count("2 workers; dashboard: off (enable it with --dashboard)") == 1
    assert "Regression: RMSE" in output
    assert "Classification: misclassification rate" in output
    assert "The report is two/report.html, and the tables are in two/results" in output
    assert "pipeline status two" in output
    assert "\x1b" not in output  # no colors and no bars without a terminal


def test_the_run_directory_contains_the_documented_files(folder: Path) -> None:
    root = folder / "two"
    for name in ("config.toml", "environment.json", "ledger.jsonl", "gram.zarr", "statistics.zarr", "weights.zarr"):
        assert (root / name).exists(), name
    assert (root / "logs/driver.log").exists()
    assert list((root / "logs").glob("worker-*.log"))
    environment = json.loads((root / "environment.json").read_text())
    assert set(environment["datasets"]) == {"wave", "flowers"}
    assert environment["libraries"]["numpy"]
    assert not list(root.rglob("*.partial"))


@pytest.mark.parametrize(("cluster", "workers"), [("local", "1"), ("threads", "2"), ("local", "4")])
def test_the_tables_are_identical_for_any_number_of_workers(folder: Path, cluster: str, workers: str) -> None:
    root = folder / f"{cluster}-{workers}"
    done = pipeline("run", "small.toml", "--cluster", cluster, "--workers", workers, "--out", root.name, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert f"{workers} worker" in done.stdout
    assert tables(root) == tables(folder / "two")
    assert (root / "logs" / "driver.log").exists()
    assert not list(root.rglob("*.partial"))
    assert not (root / "lock").exists()


def test_running_a_finished_run_again_does_nothing(folder: Path) -> None:
    before, ledger = tables(folder / "two"), (folder / "two/ledger.jsonl").read_bytes()
    done = pipeline("run", "small.toml", "--out", "two", cwd=folder)
    assert done.returncode == 0
    assert " 0 of " in done.stdout
    assert "dashboard" not in done.stdout  # no worker was started
    assert tables(folder / "two") == before
    assert (folder / "two/ledger.jsonl").read_bytes() == ledger


@pytest.mark.faults
def test_only_the_damaged_chunk_is_computed_again(folder: Path) -> None:
    root = shutil.copytree(folder / "two", folder / "damaged")
    before = names(root)
    flip(root / "weights.zarr/wave/regression/alignf/c/1/0")
    done = pipeline("run", "small.toml", "--verify", "full", "--out", root, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "weights.zarr/wave/regression/alignf/c/1/0 is damaged; it is computed again" in done.stdout
    assert tables(root) == tables(folder / "two")
    assert names(root)[len(before) :] == ["weights/wave/regression/alignf/0-3", "tables"]


@pytest.mark.faults
@pytest.mark.parametrize("warning", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_resumes_to_the_same_tables(folder: Path, warning: signal.Signals) -> None:
    root = folder / f"stopped-{warning.name}"
    process = start("run", "small.toml", "--workers", "1", "--out", root, cwd=folder)
    while process.poll() is None and not any(name.startswith("tiles/") for name in names(root)):
        time.sleep(0.02)
    os.killpg(process.pid, warning)  # to the workers too, like a terminal or a batch system
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Stopping: running tasks have at most 30 s to finish" in output
    left = 76 - sum(name.partition("/")[0] in STAGES for name in names(root))
    assert left > 0
    assert (
        errors
        == f"stopped; {left} of 76 tasks are left. `pipeline resume {root}`, or the same command, resumes the run\n"
    )
    assert not (root / "results").exists()
    done = pipeline("resume", root, "--workers", "1", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f" {left} of 76 tasks to do" in done.stdout
    assert tables(root) == tables(folder / "two")


def test_status_needs_only_the_directory(folder: Path) -> None:
    done = pipeline("status", "two", cwd=folder)
    assert done.returncode == 0
    stages = "tiles 2 of 2, reduce 2 of 2, weights 12 of 12, combine 12 of 12, fits 48 of 48"
    assert f"small: 76 of 76 tasks are done: {stages}.\n" in done.stdout
    assert "left" not in done.stdout
    assert "alignf" in done.stdout
    nothing = pipeline("status", ".", cwd=folder)
    assert nothing.returncode == 4
    assert "not a run directory" in nothing.stderr


def test_constant_kernels_have_weight_zero_and_cells_without_weights_fail_with_a_reason(folder: Path) -> None:
    constant = "{family = 'gaussian', log2_gamma = [-1000, -999]}"
    narrow = "{family = 'gaussian', log2_gamma = [-5, -4]}"
    done = pipeline(
        *("run", "small.toml", "--out", "constant"),
        *("--set", f"dataset.wave.kernels=[{constant}, {narrow}]", "--set", f"dataset.flowers.kernels=[{constant}]"),
        cwd=folder,
    )
    assert done.returncode == 3, done.stderr
    note = (
        "note: dataset 'wave': 2 of 4 kernels are constant on a training set; their weight there is 0: "
        "gaussian(2^-1000) (every trial), gaussian(2^-999) (every trial)\n"
    )
    assert done.stdout.count(note) == 1
    assert done.stdout.count("kernels are constant") == 2  # one more, for the other dataset
    store = RunStore(LocalStorage(folder / "constant"))
    for method in SMALL["methods"]:
        assert (store.read("weights.zarr", f"wave/regression/{method}")[:, :2] == 0).all()
    rows = pd.read_csv(folder / "constant/results/rows.csv")
    failed = rows["dataset"] == "flowers"
    assert rows["status"][failed].str.startswith("failed: no kernel varies").all()
    assert rows["error"][failed].isna().all()
    assert (rows["status"][~failed] == "ok").all()
    assert "flowers, regression, unif, trial 0 failed: no kernel varies" in done.stdout


@pytest.mark.faults
@pytest.mark.parametrize("how", ["gone", "flipped"])
def test_a_damaged_input_is_computed_again_when_a_task_needs_it(how: str, folder: Path) -> None:
    root = shutil.copytree(folder / "two", folder / how)
    chunk = root / "combined.zarr/wave/regression/unif/c/0/0/1"
    if how == "gone":
        chunk.unlink()
    else:  # found by the fit, but not by the quick check
        flip(chunk)
    forget(root, "fits/wave/regression/unif/0")
    before = names(root)
    done = pipeline("run", "small.toml", "--workers", "1", "--out", root, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "it is computed again" in done.stdout
    assert tables(root) == tables(folder / "two")
    added = ["combine/wave/regression/unif/0", "fits/wave/regression/unif/0", "tables"]
    assert names(root)[len(before) :] == added


@pytest.mark.faults
def test_an_input_that_stays_damaged_stops_the_run_with_one_message(folder: Path) -> None:
    root = shutil.copytree(folder / "two", folder / "hopeless")
    (root / "combined.zarr/wave/regression/unif/c/0/0/1").unlink()
    # According to the ledger, combining is done and wrote nothing, so that there is nothing to repair.
    combined = forget(root, "fits/wave/regression/unif/0")["combine/wave/regression/unif/0"]
    note(root, replace(combined, digests={}))
    done = pipeline("run", "small.toml", "--workers", "1", "--out", root, cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {root} was damaged repeatedly during the run")
    assert "Traceback" not in done.stderr


def test_status_of_a_run_that_has_just_started(tmp_path: Path) -> None:
    plan_in(tmp_path, small_config())
    shown = CliRunner().invoke(main, ["status", str(tmp_path)])
    assert shown.exit_code == 0
    assert "small: 0 of 76 tasks are done" in shown.output
    assert "76 are left: 76 not run yet." in shown.output
    assert f"`pipeline resume {tmp_path}` resumes the run" in shown.output
    assert "The tables are in" not in shown.output
