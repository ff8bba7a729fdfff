"""Tasks that are not known in advance: an iterative solver that requests another pass over the tiles."""

import json
from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import CrashError, command, finished_names, no_workers, tables, write_config
from tests.helpers.toy_solver import MAX_PASSES, toy_solver

pytestmark = pytest.mark.faults

EIGENVALUE = "fits/wave/toy/eigenvalue"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path / "tiny.toml"


def result(root: Path, name: str) -> dict[str, object]:
    lines = [json.loads(line) for line in (root / "ledger.jsonl").read_text().splitlines()]
    (found,) = [line["result"] for line in lines if line["name"] == name]
    return dict(found)


def assert_solved(root: Path) -> None:
    """Check that the result is the eigenvector of the dense kernel, and that it took several passes."""
    values = RunStore(LocalStorage(root)).array(GRAM, "wave/gram")[0]
    upper = np.triu(np.where(np.isnan(values), 0.0, values))
    kernel = upper + np.triu(upper, 1).T + 1.0
    vector = np.array(result(root, EIGENVALUE)["vector"])
    passes = {name.split("/")[4] for name in solver_tasks(root) if "/pass/" in name}
    assert 3 < len(passes) < MAX_PASSES
    np.testing.assert_allclose(np.abs(vector), np.abs(np.linalg.eigh(kernel)[1][:, -1]), rtol=1e-4)


def solver_tasks(root: Path) -> set[str]:
    return {name for name in finished_names(root) if "/toy/" in name}


def test_dependents_wait_for_all_passes(config: Path) -> None:
    root = config.parent / "run"
    with toy_solver(), no_workers():
        done = command("run", config, "--out", root)
        assert done.exit_code == 0, done.output
        assert command("verify", root).exit_code == 0
        assert "0 of" in command("run", config, "--out", root).output
    assert_solved(root)


@pytest.mark.parametrize("cluster", ["threads", "local"])
def test_solver_survives_a_worker_that_is_killed_between_passes(config: Path, cluster: str) -> None:
    root, killer = config.parent / "run", config.parent / "killed"
    with toy_solver(str(killer) if cluster == "local" else ""):
        done = command("run", config, "--out", root, "--cluster", cluster, "--workers", "2")
        assert done.exit_code == 0, done.output
    assert killer.exists() == (cluster == "local")
    assert_solved(root)


def test_a_driver_that_dies_between_passes_resumes_there(config: Path) -> None:
    reference, root = config.parent / "reference", config.parent / "run"
    with toy_solver():
        with no_workers():
            assert command("run", config, "--out", reference).exit_code == 0
        # Each crash loses the last task; many crashes happen between passes.
        for crash in range(100):
            try:
                with no_workers(max_batches=6):
                    done = command("run", config, "--out", root)
                assert done.exit_code == 0, done.output
                break
            except CrashError:
                assert crash < 99
    assert solver_tasks(root) == solver_tasks(reference)
    assert tables(root) == tables(reference)
    assert_solved(root)


def test_damaged_pass_is_computed_again(config: Path) -> None:
    root = config.parent / "run"
    with toy_solver(), no_workers():
        assert command("run", config, "--out", root).exit_code == 0
        chunk = root / "statistics.zarr/wave/toy/vectors/c/1/0"
        content = chunk.read_bytes()
        chunk.write_bytes(content[:-9] + bytes([content[-9] ^ 4]) + content[-8:])
        assert command("verify", root).exit_code == 4
        assert command("verify", root, "--repair").exit_code == 0
        assert chunk.read_bytes() == content
    assert_solved(root)
