"""Fits that exceed the memory limit: a worker or a driver that dies during a solve loses only the current part."""

import random
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.faults.harness import (
    CrashError,
    assert_same,
    command,
    finished_names,
    lines,
    no_workers,
    tables,
    write_config,
)
from tests.faults.inject import ALWAYS, TASK, Fault, run_with

pytestmark = pytest.mark.faults

# A fit of n = 80 training samples in one piece needs 65 KiB for a ridge path, and 110 KiB for support vector machines.
CONFIG: dict[str, Any] = {
    "name": "tiny",
    "baselines": False,
    "methods": ["unif"],
    "protocol": {"folds": 3},
    "fit": {
        "krr": {"from": -20, "to": 0, "step": 5},
        "svm": {"from": 6, "to": 10, "step": 4},
        "memory": "60 KiB",
    },
    "storage": {"tile": 6, "gram": "recompute"},
    "dataset": [
        {
            "name": name,
            "source": "synthetic",
            "task": task,
            "rows": 240,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 1]}],
        }
        for name, task in (("wave", "regression"), ("sides", "classification"))
    ],
}
RUN = ("run", "tiny.toml", "--workers", "2", "--out")
LARGE = "fits/wave/regression/unif/0/large"
MACHINE = "fits/sides/classification/unif/1"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose tasks were executed one after the other."""
    folder = tmp_path_factory.mktemp("reference")
    write_config(folder, CONFIG)
    with no_workers():
        done = command("run", folder / "tiny.toml", "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path, CONFIG)
    return tmp_path


def groups(root: Path) -> list[str]:
    """Return the tasks that solve groups of small ridges, which are not known in advance."""
    return sorted(
        name for name in finished_names(root) if name.startswith("fits/wave/regression/unif/0/") and "-" in name
    )


def test_every_value_is_certified(reference: Path) -> None:
    path = pd.read_csv(reference / "results/path.csv")
    assert len(path) == 3 * 5 + 3 * 2
    assert path.loc[path["dataset"] == "wave", "certificate"].max() <= 1e-6
    assert path.loc[path["dataset"] == "sides", "certificate"].max() <= 1e-3
    assert groups(reference)
    assert_same(reference, reference)


def test_the_order_of_tasks_does_not_matter(folder: Path, reference: Path) -> None:
    with no_workers(order=random.Random(1)):
        done = command("run", folder / "tiny.toml", "--out", folder / "run")
    assert done.exit_code == 0, done.output
    assert_same(folder / "run", reference)


def test_a_driver_that_dies_anywhere_resumes_from_the_last_finished_part(folder: Path, reference: Path) -> None:
    root = folder / "run"
    for crash in range(100):
        try:
            with no_workers(max_batches=3):
                done = command("run", folder / "tiny.toml", "--out", root)
            break
        except CrashError:
            assert crash < 99
    assert done.exit_code == 0, done.output
    assert set(lines(root).values()) <= {1, 2}  # parts that had a line were not solved again
    assert_same(root, reference)


@pytest.mark.parametrize("dying", [0, 1])
def test_run_survives_workers_dying_during_a_solve(folder: Path, reference: Path, dying: int) -> None:
    # At most two, since a task that was lost three times with a worker is given up.
    names = [(LARGE, MACHINE), (groups(reference)[0], "fits/wave/regression/unif/2")][dying]
    faults = [Fault(TASK, "kill", of=name, after=True) for name in names]
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=faults)
    assert done.returncode == 0, done.stderr
    assert all(run.calls(number) >= 2 for number in range(len(faults)))
    assert_same(folder / "run", reference)


def test_part_that_exhausts_the_memory_fails_only_its_cell(folder: Path, reference: Path) -> None:
    root, doomed = folder / "run", groups(reference)[0]
    run, done = run_with(*RUN, root, cwd=folder, faults=[Fault(TASK, "kill", of=doomed, times=ALWAYS)])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 3
    found = pd.read_csv(root / "results/rows.csv").set_index(["dataset", "trial"])["status"]
    assert "its worker died 3 times: it was killed, or ran out of memory" in found.pop(("wave", 0))
    assert set(found) == {"ok"}
    again = command("run", folder / "tiny.toml", "--out", root)  # nothing is left to do
    assert again.exit_code == 3, again.output
    with no_workers():
        assert command("run", folder / "tiny.toml", "--out", root, "--retry-failed").exit_code == 0
    assert tables(root) == tables(reference)


def test_damaged_coefficients_are_computed_again(folder: Path, reference: Path) -> None:
    root = folder / "run"
    shutil.copytree(reference, root)
    chunk = root / "predictions.zarr/wave/regression/coefficients/unif/c/0/4/0/0"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-9] + bytes([content[-9] ^ 4]) + content[-8:])
    assert command("verify", root).exit_code == 4
    with no_workers():
        assert command("verify", root, "--repair").exit_code == 0
    assert chunk.read_bytes() == content
    assert_same(root, reference)
