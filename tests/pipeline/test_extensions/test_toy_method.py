"""Methods that are registered from this folder, in a complete sweep with built-in ones."""

import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.results.columns import grid_columns
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.weights.method import METHODS, Grid
from tests.helpers.build import put_config, synthetic_values
from tests.pipeline.test_extensions.registering import registered
from tests.pipeline.test_extensions.toy_method import TopKernels
from tests.pipeline.test_extensions.toy_one_stage import EqualKrr, ScaledKrr

FOLDS = 3
GRID = {"from": -20, "to": 0, "step": 4}
KERNELS = [{"family": "gaussian", "log2_gamma": [-4, 1]}]
COLUMNS = [{"family": "rank-one"}]


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with ExitStack() as stack:
        for method in (TopKernels, EqualKrr, ScaledKrr):
            stack.enter_context(registered(METHODS, method.name, method))
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, _registered: None) -> Path:
    """Return the directory of a finished run of both methods on Gram matrices and on columns."""
    folder = tmp_path_factory.mktemp("sweep")
    values = synthetic_values(rows=60, kernels=KERNELS) | {
        "baselines": False,
        "methods": ["unif", {"method": "top-kernels", "count": 3}, "top-kernels", "equal-krr"],
        "fit": {"krr": GRID},
    }
    values["dataset"].append({**values["dataset"][0], "name": "columns", "kernels": COLUMNS})
    config = put_config(folder, values)
    done = CliRunner().invoke(main, ["run", str(config), "--cluster", "threads", "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder / "run"


def rows_of(root: Path, method: str, dataset: str = "made") -> Any:
    return pd.read_csv(root / "results/rows.csv").query(f"method == '{method}' and dataset == '{dataset}'")


@pytest.mark.parametrize("dataset", ["made", "columns"])
@pytest.mark.parametrize("method", ["unif", "top-kernels-count3", "top-kernels-count2", "equal-krr"])
def test_every_method_has_its_rows(root: Path, method: str, dataset: str) -> None:
    rows = rows_of(root, method, dataset)
    assert list(rows["trial"]) == list(range(FOLDS))
    assert (rows["status"] == "ok").all()


@pytest.mark.parametrize("dataset", ["made", "columns"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_parameter_reaches_the_weights(root: Path, count: int, dataset: str) -> None:
    store = RunStore(LocalStorage(root))
    alignments = store.read(STATISTICS, f"{dataset}/regression/alignment")
    weights = store.read(WEIGHTS, f"{dataset}/regression/top-kernels-count{count}")
    for own, mu in zip(alignments, weights, strict=True):
        assert set(np.flatnonzero(mu)) == set(np.argsort(-own, kind="stable")[:count])
    assert (rows_of(root, f"top-kernels-count{count}", dataset)["n_active"] == count).all()


@pytest.mark.parametrize("dataset", ["made", "columns"])
def test_the_one_stage_method_with_equal_weights_has_the_errors_of_unif(root: Path, dataset: str) -> None:
    mine, unif = rows_of(root, "equal-krr", dataset), rows_of(root, "unif", dataset)
    np.testing.assert_allclose(mine["error"], unif["error"], rtol=1e-6)
    np.testing.assert_array_equal(mine["regularisation"], unif["regularisation"])
    np.testing.assert_allclose(mine["alignment_test"], unif["alignment_test"], rtol=1e-9)


def test_values_of_several_grids_are_in_columns_of_their_names(root: Path, tmp_path: Path) -> None:
    keys = ["dataset", "task", "method", "repeat", "trial"]
    unused = pd.read_csv(root / "results/path.csv")
    assert list(unused)[: len(keys) + 3] == [*keys, "gamma", "gamma1", "regularisation"]
    values = synthetic_values(rows=60, kernels=KERNELS) | {"baselines": False, "methods": ["scaled-krr"]}
    config = put_config(tmp_path, values)
    done = CliRunner().invoke(main, ["run", str(config), "--cluster", "threads", "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    path = pd.read_csv(tmp_path / "run/results/path.csv")
    assert list(path)[: len(keys) + 4] == [*keys, "gamma", "gamma1", "factor", "regularisation"]
    assert path[["gamma", "gamma1"]].isna().all(axis=None)
    products = [(factor, ridge) for factor in (1.0, 4.0) for ridge in (1.0, 2.0**-4, 2.0**-8)]
    assert list(path.query("trial == 0")[["factor", "regularisation"]].itertuples(index=False, name=None)) == products
    described = CliRunner().invoke(main, ["columns", "path"]).output
    assert "scaled-krr: factor of the ridges" in described


def test_a_grid_with_the_name_of_a_column_is_rejected() -> None:
    class Wrong(ScaledKrr):
        name: ClassVar[str] = "wrong"
        grids: ClassVar[tuple[Grid, ...]] = (Grid(0, 2, name="error"), Grid(-8, 0, name="ridge"))

    with registered(METHODS, "wrong", Wrong), pytest.raises(ValueError, match="the grid 'error' of wrong has the name"):
        grid_columns()


def test_the_resolved_config_has_the_defaults_of_both(root: Path) -> None:
    config = tomllib.loads((root / "config.toml").read_text())
    assert config["methods"][1:3] == [{"method": "top-kernels", "count": 3}, {"method": "top-kernels", "count": 2}]
    assert config["fit"]["equal-krr"] == GRID


def test_the_run_is_finished_and_verified(root: Path) -> None:
    for command in (["verify", str(root)], ["resume", str(root), "--cluster", "threads"]):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
