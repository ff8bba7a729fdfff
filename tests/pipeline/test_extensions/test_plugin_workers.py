"""The plug-in of CONTRIBUTING.md on worker processes, and workers that lack a plug-in."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.store.arrays import DATA, GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import GAUSSIAN, put_config, synthetic_values
from tests.helpers.markdown import blocks
from tests.helpers.plugin_packages import FAMILY, install
from tests.helpers.sweeps import pipeline

TANIMOTO = {"family": "tanimoto", "power": [1, 3]}
# Workers start without the folder of the plug-in, which only the driver adds to its path.
SCRIPT = """
import sys
from distributed import Client, LocalCluster
import kernel_pipeline as kp

if __name__ == "__main__":
    config, folder, theirs = sys.argv[1:]
    if theirs:
        sys.path.insert(0, theirs)  # inherited by the worker processes
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        client.wait_for_workers(1)
        if theirs:
            sys.path.remove(theirs)
        sys.path.insert(0, folder)
        try:
            kp.run(config, cluster=client, out="run")
        except kp.ClusterError as error:
            print(error)
            sys.exit(error.exit_code)
"""


def example_file(name: str) -> str:
    """Return the file of the example in CONTRIBUTING.md whose block begins with its name."""
    (block,) = (block for block in blocks("CONTRIBUTING.md") if block.text.startswith(f"# {name}\n"))
    return block.text


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder into which pip has installed the plug-in of CONTRIBUTING.md."""
    source, site = tmp_path_factory.mktemp("tanimoto"), tmp_path_factory.mktemp("site")
    for name in ("tanimoto.py", "pyproject.toml"):
        (source / name).write_text(example_file(name))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    command = [sys.executable, "-m", "pip", "install", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


def test_the_documented_plug_in_runs_on_worker_processes(site: Path, tmp_path: Path) -> None:
    kernels = [TANIMOTO, TANIMOTO | {"columns": ["0-2"], "each": "column"}, GAUSSIAN]
    put_config(tmp_path, synthetic_values(rows=30, kernels=kernels) | {"storage": {"tile": 16}})
    done = pipeline(
        "run", "sweep.toml", "--cluster", "local", "--workers", "2", "--out", "run", cwd=tmp_path, root=site
    )
    assert done.returncode == 0, done.stderr
    store = RunStore(LocalStorage(tmp_path / "run"))
    stored, features = store.array(GRAM, "made/gram"), store.read(DATA, "made/features")
    each = [f"{column}:tanimoto({power})" for column in (0, 1, 2) for power in (1, 3)]
    assert stored.attrs["kernels"] == ["tanimoto(1)", "tanimoto(3)", *each, "gaussian(2^-1)", "gaussian(2^0)"]
    upper = np.triu_indices(30)
    for first, columns in ((0, [0, 1, 2, 3, 4]), (2, [0]), (4, [1]), (6, [2])):
        x = features[:, columns]
        # The kernel by its definition, pair by pair.
        whole = np.array([[a @ b / (a @ a + b @ b - a @ b) for b in x] for a in x])
        for number, power in ((first, 1), (first + 1, 3)):
            np.testing.assert_allclose(np.asarray(stored[number])[upper], whole[upper] ** power, rtol=1e-11)
    assert json.loads((tmp_path / "run/environment.json").read_text())["libraries"]["tanimoto"] == "1.0"


def drive(folder: Path, ours: Path, theirs: Path | str) -> subprocess.CompletedProcess[str]:
    """Run a sweep on a worker that has another folder on its path than the driver, or none."""
    values: dict[str, Any] = synthetic_values(rows=30, kernels=[{"family": "mine"}])
    config = put_config(folder, values)
    (folder / "drive.py").write_text(SCRIPT)
    command = [sys.executable, "drive.py", str(config), str(ours), str(theirs)]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("theirs", "rows"),
    [
        ({}, [["my-kernels", "1.0", "none"], ["source", "of", "my-kernels"]]),
        ({"version": "1.1"}, [["my-kernels", "1.0", "1.1"]]),
        ({"source": FAMILY + "# changed"}, [["source", "of", "my-kernels"]]),
    ],
    ids=["without", "other version", "other source"],
)
def test_workers_without_the_plug_in_or_with_another_one_are_refused_before_the_first_task(
    theirs: dict[str, str], rows: list[list[str]], tmp_path: Path
) -> None:
    other = install(tmp_path / "theirs", **theirs) if theirs else ""
    done = drive(tmp_path, install(tmp_path / "ours"), other)
    assert done.returncode == 5, done.stderr
    head, names, *found, last = done.stdout.splitlines()
    assert head == "1 of 1 workers have other versions than this driver:"
    assert names.split()[0] == "driver"
    assert [line.split()[: len(row)] for line, row in zip(found, rows, strict=True)] == rows
    assert last == "Install the same versions for the workers, and run the same command again"
    assert "kernel_pipeline/" not in done.stderr  # no traceback of the driver; Dask may log that connections close
    assert not list((tmp_path / "run/gram.zarr/made/gram").glob("c/*"))
