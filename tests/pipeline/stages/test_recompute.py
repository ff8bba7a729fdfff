"""Sweeps without stored Gram matrices, against the same sweeps with stored ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import kernel_pipeline as kp
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.matrices import HELD_OUT_BYTES
from kernel_pipeline.stages.tile_sources import tiles_on_and_above_diagonal
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import put
from tests.helpers.sweeps import plan_in, run_here, small_config, write_results
from tests.pipeline.data.kernel_matrices import save

FAMILIES: list[dict[str, Any]] = [
    {"family": "gaussian", "log2_gamma": [-3, -1]},
    {"family": "polynomial", "degree": [2], "gamma": 0.5, "coef0": 1.0, "columns": [0, 2], "name": "two"},
    {"family": "laplacian", "gamma": 0.5},
    {"family": "gaussian", "gamma": ["median", 0.3]},
]
STORED: list[dict[str, Any]] = [
    {"family": "precomputed", "path": "string.npy"},
    {"family": "gaussian", "log2_gamma": [-2, -2]},
]
SWEEP: dict[str, Any] = {
    "name": "modes",
    "baselines": False,
    "methods": [
        *("unif", "align", "alignf", "alignf-linear", "best-kernel"),
        *("l2-krr", "l1-svm", "align-krr", "each-kernel"),
    ],
    "protocol": {"folds": 3},
    "fit": {
        "krr": {"from": -12, "to": 0, "step": 4},
        "svm": {"from": 0, "to": 8, "step": 4},
        "l1-svm": {"from": 0, "to": 4, "step": 4},
        "l2-krr": {"from": 0, "to": 8, "step": 4},
        "align-krr": {key: {"from": -4, "to": -4} for key in ("gamma", "gamma1", "gamma2")},
    },
    "storage": {"tile": 16},
    "dataset": [
        {
            "name": "families",
            "source": "synthetic",
            "task": "regression",
            "rows": 50,
            "kernels": FAMILIES,
        },
        {
            "name": "stored",
            "source": "file",
            "task": ["regression", "classification"],
            "path": "things.csv",
            "format": "csv",
            "target": "y",
            "rows": 37,
            "kernels": STORED,
        },
        {
            "name": "classes",
            "source": "sklearn",
            "task": "classification",
            "id": "wine",
            "scale": "standard",
            "rows": 60,
            "kernels": FAMILIES[:1],
        },
        {
            "name": "by-trial",
            "source": "synthetic",
            "task": "regression",
            "rows": 40,
            "scale": "standard",
            "fit_on": "train",
            "kernels": [{"family": "gaussian", "gamma": ["median", 0.3]}],
        },
    ],
}


def put_data(folder: Path, rows: int = 40) -> None:
    """Write a table, and two kernels of its rows."""
    features = np.random.default_rng(5).normal(size=(rows, 3))
    labels = (features[:, 0] * features[:, 1] > 0).astype(int)
    lines = (",".join([*(repr(float(x)) for x in row), str(y)]) for row, y in zip(features, labels, strict=True))
    put(folder, "\n".join(["a,b,c,y", *lines]))
    kernels = np.stack([rbf_kernel(features, gamma=gamma) for gamma in (0.1, 1.0)])
    save(folder / "string.npy", (kernels + kernels.transpose(0, 2, 1)) / 2)


def tables(root: Path) -> dict[str, bytes]:
    """Return the bytes of all tables that do not depend on the clock."""
    found = {path.name: path.read_bytes() for path in (root / "results").iterdir() if path.suffix in (".csv", ".md")}
    del found["timings.csv"]
    return found


def storage(**values: Any) -> dict[str, Any]:
    return {**SWEEP["storage"], **values}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run the sweep in both modes."""
    folder = tmp_path_factory.mktemp("modes")
    put_data(folder)
    for mode in ("keep", "recompute"):
        values = SWEEP | {"storage": storage(gram=mode)}
        kp.run(values, cluster="threads", out=folder / mode, data_dir=folder)
    return {mode: folder / mode for mode in ("keep", "recompute")}


def test_tables_have_the_same_bytes_in_both_modes(runs: dict[str, Path]) -> None:
    kept, recomputed = tables(runs["keep"]), tables(runs["recompute"])
    assert {"rows.csv", "path.csv", "kernels.csv", "bounds.csv", "summary.md"} <= kept.keys()
    assert kept == recomputed
    rows = kp.open_run(runs["keep"]).rows
    assert (rows["status"] == "ok").all()
    assert set(rows["method"]) == set(SWEEP["methods"]) - {"each-kernel"}


def test_no_kernel_is_stored_when_it_is_recomputed(runs: dict[str, Path]) -> None:
    root = runs["recompute"]
    assert not (root / "combined.zarr").exists()
    for name in ("families", "stored", "classes"):
        assert {path.name for path in (root / "gram.zarr" / name).iterdir()} == {"order", "fold", "zarr.json"}
    plan = kp.plan(SWEEP | {"storage": storage(gram="recompute")}, data_dir=root.parent)
    assert not [task for dataset in plan.datasets for task in dataset.of(CombineTask)]
    stored = sum(path.stat().st_size for path in root.rglob("*.zarr/**/c/**/*") if path.is_file())
    assert stored <= plan.disk_bytes


def test_kernels_that_are_not_stored_are_computed_for_the_api(runs: dict[str, Path]) -> None:
    kept, recomputed = kp.open_run(runs["keep"]), kp.open_run(runs["recompute"])
    for dataset in ("families", "stored"):
        for kernel in kept.weights(dataset, "unif", "regression")["kernel"]:
            np.testing.assert_array_equal(recomputed.gram(dataset, kernel), kept.gram(dataset, kernel))


@pytest.mark.parametrize("mode", ["keep", "recompute"])
def test_held_out_rows_that_are_read_later_give_the_same_results(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(methods=["unif", "alignf"], storage={"tile": 37, "gram": mode})
    plan, _, finished = run_here(tmp_path, config)
    assert HELD_OUT_BYTES > 8 * 101**2
    monkeypatch.setattr("kernel_pipeline.stages.matrices.HELD_OUT_BYTES", 0)
    for dataset in plan.datasets:
        for task in dataset.of(FitTask):
            (again,) = run_tasks([task], RunStore(LocalStorage(tmp_path)))
            assert again.result == finished[task.name].result
            assert again.inputs == finished[task.name].inputs


def test_a_budget_between_the_sizes_of_two_datasets_keeps_the_smaller(tmp_path: Path) -> None:
    whole = kp.plan(SMALL_PAIR)
    small, large = (dataset.gram.kept_bytes for dataset in whole.datasets if dataset.gram)
    assert small < large
    plan = kp.plan(SMALL_PAIR | {"storage": {"tile": 16, "keep_up_to": f"{small} B"}})
    assert [dataset.gram.recompute for dataset in plan.datasets if dataset.gram] == [False, True]
    assert [bool(dataset.of(CombineTask)) for dataset in plan.datasets] == [True, False]
    assert plan.disk_bytes == whole.disk_bytes - large
    plan, _, finished = run_here(tmp_path, parse_config(SMALL_PAIR | {"storage": {"tile": 16}}, "a test"))
    write_results(tmp_path, plan, finished)
    stored = sum(
        path.stat().st_size
        for group in ("gram.zarr/*/gram", "combined.zarr")
        for path in tmp_path.glob(f"{group}/**/c/**/*")
        if path.is_file()
    )
    assert stored == small + large  # the budget is compared with what is stored


SMALL_PAIR: dict[str, Any] = {
    "name": "pair",
    "baselines": False,
    "methods": ["unif", "alignf"],
    "protocol": {"folds": 3},
    "storage": {"tile": 16},
    "dataset": [
        {"name": name, "source": "synthetic", "task": "regression", "rows": rows, "kernels": FAMILIES[:1]}
        for name, rows in (("small", 20), ("large", 40))
    ],
}


def test_the_tiles_of_a_recomputed_sweep_are_those_of_a_stored_one(tmp_path: Path) -> None:
    plan, _ = plan_in(tmp_path, parse_config(SMALL_PAIR | {"storage": {"tile": 16, "gram": "recompute"}}, "a test"))
    for dataset in plan.datasets:
        tiles = [tile for task in dataset.of(TilesTask) for tile in task.tiles]
        assert tiles == tiles_on_and_above_diagonal(dataset.info.rows, 16)
        for task in dataset.of(TilesTask):
            assert all("/gram" not in written.array for written in task.writes())
