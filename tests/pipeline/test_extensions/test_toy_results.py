"""Metrics, tables and figures of this folder that are added or removed between runs, or whose names are in use."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from kernel_pipeline.cli.maintenance_view import print_verification
from kernel_pipeline.results.figures.figure import FIGURES
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks import metrics
from tests.helpers.sweeps import SMALL, resume_here, run_here, small_config, smaller_config
from tests.pipeline.test_extensions.registering import registered
from tests.pipeline.test_extensions.toy_figure import FIGURE
from tests.pipeline.test_extensions.toy_metric import METRIC
from tests.pipeline.test_extensions.toy_table import TABLE


def run(root: Path) -> None:
    run_here(root, smaller_config())
    assert resume_here(root)[0] == 0


def verified(root: Path) -> str:
    """Return the output of `pipeline verify`."""
    said = io.StringIO()
    print_verification(Console(file=said, width=200), verify_run(LocalStorage(root)))
    return said.getvalue()


def files_of(root: Path) -> set[str]:
    """Return the files of the tables and figures in the ledger."""
    tables = Ledger(LocalStorage(root)).read().tables
    assert tables
    return set(tables.digests)


@pytest.fixture
def metric() -> Iterator[None]:
    with registered(metrics.METRICS, METRIC.name, METRIC):
        yield


@pytest.mark.usefixtures("metric")
def test_a_metric_is_a_column_of_the_rows(tmp_path: Path) -> None:
    datasets = [dataset | {"rows": 50} for dataset in SMALL["dataset"]]
    counts: dict[str, Any] = {"name": "counts", "source": "synthetic", "task": "regression", "rows": 50, "features": 5}
    methods = ["unif", "alignf", "l2-krr"]
    counts |= {"kernels": [{"family": "rank-one"}]}
    run_here(tmp_path, small_config(methods=methods, protocol={"folds": 3}, dataset=[*datasets, counts]))
    assert resume_here(tmp_path)[0] == 0
    for rows in (pd.read_csv(tmp_path / "results/rows.csv"), pd.read_parquet(tmp_path / "results/rows.parquet")):
        assert list(rows.columns)[-4:-2] == ["r2", "largest"]
        regression = rows[rows["task"] == "regression"]
        assert set(regression["dataset"]) == {"wave", "flowers", "counts"}
        assert (regression["largest"] >= regression["error"]).all()  # the largest absolute value is at least the RMSE
        assert rows["largest"][rows["task"] == "classification"].isna().all()
    assert "files are intact" in verified(tmp_path)


def test_a_metric_that_is_added_later_outdates_the_fits_that_it_measures(tmp_path: Path) -> None:
    plan, _, _ = run_here(tmp_path, smaller_config())
    identities = {task.name: task.identity for task in plan.tasks}
    with registered(metrics.METRICS, METRIC.name, METRIC):
        again = run_here(tmp_path / "again", smaller_config())[0]
    changed = {task.name for task in again.tasks if task.identity != identities[task.name]}
    assert changed == {name for name in identities if name.startswith("fits/") and "/regression/" in name}


def test_registered_tables_and_figures_are_added_and_others_removed(tmp_path: Path) -> None:
    """Tables and figures that are registered after a run are added to it, and removed when they are unregistered."""
    run(tmp_path)
    before = files_of(tmp_path)
    with registered(TABLES, TABLE.name, TABLE), registered(FIGURES, FIGURE.name, FIGURE):
        assert resume_here(tmp_path)[0] == 0
        assert files_of(tmp_path) - before == {
            "results/ranges.csv",
            "results/ranges.json",
            "figures/bars.svg",
            "figures/bars.png",
        }
    (tmp_path / "results/ranges.json").write_text("mine")  # not the content that the run wrote, so it is kept
    assert resume_here(tmp_path)[0] == 0
    assert files_of(tmp_path) == before
    assert not (tmp_path / "results/ranges.csv").exists()
    assert not (tmp_path / "figures/bars.svg").exists()
    assert (tmp_path / "results/ranges.json").read_text() == "mine"


def test_a_run_draws_a_built_in_figure_that_it_lacks(tmp_path: Path) -> None:
    """A figure may be new in an update of this package that does not change the version of the tables."""
    others = {name: figure for name, figure in FIGURES.registered.items() if name != "errors"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FIGURES, "_entries", others)
        run(tmp_path)
    before = files_of(tmp_path)
    assert "tables of an earlier state" in verified(tmp_path)
    assert resume_here(tmp_path)[0] == 0
    assert {key.partition("-")[0] for key in files_of(tmp_path) - before} == {"figures/errors"}


@pytest.mark.parametrize("name", ["error", "theorem12_evaluated"])
def test_a_metric_with_the_name_of_a_column_is_refused(name: str) -> None:
    metric = metrics.Metric(name, ("regression",), metrics.rmse, "RMSE")
    with (
        registered(metrics.METRICS, name, metric),
        pytest.raises(ValueError, match="has the name of another column"),
    ):
        _ = TABLES["rows"].columns


def test_a_problem_has_one_primary_metric() -> None:
    with pytest.raises(ValueError, match="'rmse' is already the primary metric of regression"):
        metrics.register(metrics.Metric("other", ("regression",), metrics.rmse, "other", primary=True))
    with pytest.raises(ValueError, match="the name of a metric must be an identifier; got 'mean error'"):
        metrics.register(metrics.Metric("mean error", ("regression",), metrics.rmse, "other"))
