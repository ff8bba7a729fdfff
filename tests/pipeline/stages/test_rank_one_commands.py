"""Rank-one families on the command line: a killed run, notes on methods left out, and thousands of kernels."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.stages.kernel_results import MAX_NAMED_KERNELS
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.sweeps import pipeline, run_here, start, write_results
from tests.pipeline.stages.rank_one_sweep import FOLDS, SWEEP, RankOneRun, write_data

SAME_BYTES = ("rows.csv", "rows.parquet", "path.csv", "kernels.csv", "bounds.csv", "summary.csv", "summary.md")


def tables(root: Path) -> dict[str, bytes]:
    return {name: (root / "results" / name).read_bytes() for name in SAME_BYTES}


NOTES = [
    "note: l1-svm on numbers (regression), documents (regression): left out, since it supports only classification\n",
    "note: l2-krr on sides (classification), documents (classification): left out, since it supports only regression\n",
    "note: align-krr on sides (classification), documents (classification): "
    "left out, since it supports only regression\n",
]


@pytest.mark.faults
def test_a_killed_run_with_one_worker_resumes_to_the_tables_of_a_run_with_two(
    rank_one_folder: Path, rank_one_run: RankOneRun
) -> None:
    few = ("run", "sweep.toml", "--set", "methods=['alignf', 'l1-svm', 'l2-krr', 'align-krr']")
    killed = start(*few, "--workers", "1", "--out", "killed", cwd=rank_one_folder)
    ledger = rank_one_folder / "killed/ledger.jsonl"
    while killed.poll() is None and not (ledger.exists() and ledger.read_text().count("\n") > 10):
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (rank_one_folder / "killed/results").exists()
    again = pipeline(*few, "--workers", "1", "--out", "killed", cwd=rank_one_folder)
    assert again.returncode == 0, again.stderr
    total = 3 + 4 * FOLDS * 2 + 2 * FOLDS  # the statistics, two methods for each task, align-krr for regressions
    assert f" {total} of {total} tasks to do" not in again.stdout

    whole = pipeline(*few, "--workers", "2", "--out", "whole", cwd=rank_one_folder)
    assert whole.returncode == 0, whole.stderr
    assert f" {total} of {total} tasks to do" in whole.stdout
    assert tables(rank_one_folder / "killed") == tables(rank_one_folder / "whole")

    for note in NOTES:
        assert whole.stdout.count(note) == 1
    for name in ("numbers", "sides"):
        said = f"note: dataset {name!r}: 1 of 6 kernels are constant on a training set; their weight there is 0: same"
        assert whole.stdout.count(f"{said} (every trial)\n") == 1
    kernels, traces = (
        rank_one_run[1].datasets[2].kernels,
        RunStore(LocalStorage(rank_one_run[0])).read(STATISTICS, "documents/regression/trace"),
    )
    constant = np.flatnonzero((traces == 0).any(axis=0))
    assert len(constant) > MAX_NAMED_KERNELS
    first = constant[0]
    where = ", ".join(map(str, np.flatnonzero(traces[:, first] == 0)))
    most = int((traces == 0).sum(axis=1).max())
    up_to = "up to " if most < len(constant) else ""
    said = f"dataset 'documents': {up_to}{most} of {len(kernels)} kernels are constant on a training set; their weight"
    assert whole.stdout.count(f"{said} there is 0: {kernels[first]} (trial {where})") == 1
    assert f" and {len(constant) - MAX_NAMED_KERNELS} more\n" in whole.stdout

    # Numbers agree with those of this process, whose libraries may add up in another order.
    key = ["dataset", "task", "method", "trial"]
    here, there = read_rows(LocalStorage(rank_one_run[0])), read_rows(LocalStorage(rank_one_folder / "whole"))
    here = here[here["method"].isin(there["method"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(here[key], there[key])
    shown = pipeline("status", "whole", cwd=rank_one_folder)
    assert f"fits {len(here)} of {len(here)}." in shown.stdout


def test_plan_lists_methods_that_are_left_out(rank_one_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(rank_one_folder)
    shown = CliRunner().invoke(main, ["plan", "sweep.toml"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0, shown.output
    assert shown.output.endswith("".join(NOTES))
    assert "123 tasks: reduce 3, fits 120;" in shown.output


def test_very_many_kernels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(24):
        # Every column has a value in some row, since columns without values are not kept.
        places = np.union1d(rng.choice(np.arange(2, 5001), 40, replace=False), np.arange(2 + number, 5001, 24))
        entries = [f"1:{number % 5}", *(f"{place}:{rng.integers(1, 4)}" for place in places), "5001:1"]
        rows.append(f"{number % 2} {' '.join(entries)}\n")
    (tmp_path / "wide.svm").write_text("".join(rows))
    write_data(tmp_path)
    wide = {"name": "wide", "task": "classification", "source": "file", "path": "wide.svm", "format": "libsvm"}
    config = parse_config(
        {
            "name": "wide",
            "baselines": False,
            "methods": ["unif", "alignf", "alignf-linear"],
            "protocol": {"folds": 3},
            "dataset": [wide | {"kernels": [{"family": "rank-one"}]}, SWEEP["dataset"][1]],
        },
        "a test",
    )
    plan, _, finished = run_here(tmp_path, config)
    table = write_results(tmp_path, plan, finished)
    assert len(plan.datasets[0].kernels) == 5001
    assert lines(plan.notes()) == [
        "note: alignf-linear on wide (classification): left out, since it needs a matrix of all pairs of "
        "kernels and supports at most 5,000 kernels; got 5,001"
    ]
    cells_found = table.groupby("dataset")["method"].unique().map(list).to_dict()
    assert cells_found == {"wide": ["unif", "alignf"], "sides": ["unif", "alignf", "alignf-linear"]}
    assert (table["status"] == "ok").all()
    kernels = pd.read_csv(tmp_path / "results/kernels.csv")
    assert set(kernels["dataset"]) == {"sides"}
    assert len(kernels) == 3 * 6
    # The arrays contain the values that the table leaves out.
    stored = RunStore(LocalStorage(tmp_path)).read(STATISTICS, "wide/classification/alignment", allow_nan=True)
    assert stored.shape == (3, 5001)
    assert (table.query("dataset == 'wide'")["n_kernels"] == 5001).all()
