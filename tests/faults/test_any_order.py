"""Neither the number of workers nor the order in which tasks end changes a byte of the tables."""

import os
import random
import signal
from pathlib import Path

import pytest

from tests.faults.harness import (
    assert_same,
    assert_same_and_tidy,
    command,
    finished_names,
    lines,
    no_workers,
    wait_until,
)
from tests.helpers.sweeps import pipeline, start

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_any_order_of_tasks_gives_the_same_tables(undisturbed: Path, tmp_path: Path, seed: int) -> None:
    with no_workers(random.Random(seed)):
        done = command("run", undisturbed.parent / "tiny.toml", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert list(lines(tmp_path / "run")) != list(lines(undisturbed))
    assert_same(tmp_path / "run", undisturbed)


@pytest.mark.slow
def test_run_killed_and_resumed_with_fewer_workers_gives_the_same_tables(undisturbed: Path, tmp_path: Path) -> None:
    root, arguments = tmp_path / "run", ("run", undisturbed.parent / "tiny.toml", "--out", tmp_path / "run")
    process = start(*arguments, "--workers", "4", cwd=tmp_path)
    assert wait_until(lambda: any(name.startswith("fits/") for name in finished_names(root)), 60)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    before = finished_names(root)
    assert "tables" not in before, "the run ended before it was killed"
    done = pipeline(*arguments, "--workers", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same_and_tidy(root, undisturbed)
    assert {lines(root)[name] for name in before} == {1}


def test_four_workers_give_the_same_tables_as_two(undisturbed: Path, tmp_path: Path) -> None:
    config = undisturbed.parent / "tiny.toml"
    done = pipeline("run", config, "--workers", "4", "--out", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_same(tmp_path / "run", undisturbed)
