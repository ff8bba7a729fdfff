"""A metric, a table and a figure, each from one file of this folder, in a whole sweep."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from kernel_pipeline.cli.maintenance_view import print_verification
from kernel_pipeline.results import table as tables
from kernel_pipeline.results.figures import figure as figures
from kernel_pipeline.run.repair import verify_run
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks import metrics
from tests.helpers.sweeps import SMALL, resume_here, run_here, small_config, smaller_config
from tests.pipeline.test_extensions.toy_figure import FIGURE
from tests.pipeline.test_extensions.toy_metric import METRIC
from tests.pipeline.test_extensions.toy_table import TABLE


def run(root: Path) -> None:
    run_here(root, smaller_config())
    assert resume_here(root)[0] == 0


def verified(root: Path) -> str:
    """What `verify` says."""
    said = io.StringIO()
    print_verification(Console(file=said, width=200), verify_run(LocalStorage(root)))
    return said.getvalue()


def files_of(root: Path) -> set[str]:
    """Files of the tables and figures in the ledger."""
    return set(Ledger(LocalStorage(root)).read()["tables"].digests)


@pytest.fixture
def metric() -> Iterator[None]:
    metrics.register(METRIC)
    yield
    metrics.METRICS.unregister(METRIC.name)


@pytest.fixture
def table() -> Iterator[None]:
    tables.register(TABLE)
    yield
    tables.TABLES.unregister(TABLE.name)


@pytest.fixture
def figure() -> Iterator[None]:
    figures.register(FIGURE)
    yield
    figures.FIGURES.unregister(FIGURE.name)


@pytest.mark.usefixtures("metric")
def test_a_metric_is_a_column_of_the_rows(tmp_path: Path) -> None:
    datasets = [dataset | {"rows": 50} for dataset in SMALL["dataset"]]
    counts: dict[str, Any] = {"name": "counts", "source": "synthetic", "task": "regression", "rows": 50, "features": 5}
    methods = ["unif", "alignf", "l2-krr"]
    counts |= {"kernels": [{"family": "rank-one"}]}
    run_here(tmp_path, small_config(methods=methods, protocol={"folds": 3}, dataset=[*datasets, counts]))
    assert resume_here(tmp_path)[0] == 0
    for rows in (pd.read_csv(tmp_path / "results/rows.csv"), pd.read_parquet(tmp_path / "results/rows.parquet")):
        assert list(rows.columns)[-2:] == ["status", "mae"]
        regression = rows[rows["task"] == "regression"]
        assert set(regression["dataset"]) == {"wave", "flowers", "counts"}
        assert (regression["mae"] > 0).all()
        assert (regression["mae"] <= regression["error"]).all()  # a mean of absolute values is at most the RMSE
        assert rows["mae"][rows["task"] == "classification"].isna().all()
    assert "files are as they were written" in verified(tmp_path)


def test_a_metric_that_is_added_later_outdates_the_fits_that_it_measures(tmp_path: Path) -> None:
    plan, _, _ = run_here(tmp_path, smaller_config())
    identities = {task.name: task.identity for task in plan.tasks}
    metrics.register(METRIC)
    try:
        again = run_here(tmp_path / "again", smaller_config())[0]
    finally:
        metrics.METRICS.unregister(METRIC.name)
    changed = {task.name for task in again.tasks if task.identity != identities[task.name]}
    assert changed == {name for name in identities if name.startswith("fits/") and "/regression/" in name}


@pytest.mark.usefixtures("table")
def test_a_table_is_written_and_verified(tmp_path: Path) -> None:
    run(tmp_path)
    rows = pd.read_csv(tmp_path / "results/rows.csv")
    found = pd.read_csv(tmp_path / "results/ranges.csv")
    assert list(found.columns) == ["dataset", "task", "method", "least", "most"]
    expected = rows.groupby(["dataset", "task", "method"], sort=False)["error"].agg(["min", "max"])
    assert found["least"].tolist() == expected["min"].tolist()
    assert found["most"].tolist() == expected["max"].tolist()
    assert len(json.loads((tmp_path / "results/ranges.json").read_text())) == len(found)
    assert {"results/ranges.csv", "results/ranges.json"} <= files_of(tmp_path)
    assert "files are as they were written" in verified(tmp_path)


@pytest.mark.usefixtures("figure")
def test_a_figure_is_written_verified_and_repaired(tmp_path: Path) -> None:
    run(tmp_path)
    path = tmp_path / "figures/bars.svg"
    content = path.read_bytes()
    errors = pd.read_csv(tmp_path / "results/rows.csv")["error"]
    assert re.findall(r'height="([^"]+)"', content.decode()) == [f"{100 * error:.3f}" for error in errors]
    assert "figures/bars.svg" in files_of(tmp_path)
    assert "files are as they were written" in verified(tmp_path)
    path.write_bytes(content.replace(b"rect", b"test"))
    assert "figures/bars.svg is damaged" in verified(tmp_path)
    assert resume_here(tmp_path)[0] == 0
    assert path.read_bytes() == content
    path.with_name("mine.svg").write_text("mine")
    assert "figures/mine.svg belongs to no finished task" in verified(tmp_path)


def test_tables_and_figures_follow_what_is_registered(tmp_path: Path) -> None:
    """What is registered after a run is added to it, and removed again when it is no longer registered."""
    run(tmp_path)
    before = files_of(tmp_path)
    assert not (tmp_path / "figures").exists()
    tables.register(TABLE)
    figures.register(FIGURE)
    try:
        assert resume_here(tmp_path)[0] == 0
        assert files_of(tmp_path) - before == {"results/ranges.csv", "results/ranges.json", "figures/bars.svg"}
    finally:
        tables.TABLES.unregister(TABLE.name)
        figures.FIGURES.unregister(FIGURE.name)
    (tmp_path / "results/ranges.json").write_text("mine")  # not what the run wrote, so it stays
    assert resume_here(tmp_path)[0] == 0
    assert files_of(tmp_path) == before
    assert not (tmp_path / "results/ranges.csv").exists()
    assert not (tmp_path / "figures/bars.svg").exists()
    assert (tmp_path / "results/ranges.json").read_text() == "mine"


@pytest.mark.parametrize("name", ["error", "theorem12_evaluated"])
def test_a_metric_with_the_name_of_a_column_is_refused(name: str) -> None:
    metrics.register(metrics.Metric(name, ("regression",), metrics.rmse, "RMSE"))
    try:
        with pytest.raises(ValueError, match="has the name of another column"):
            _ = tables.TABLES["rows"].columns
    finally:
        metrics.METRICS.unregister(name)


def test_a_problem_has_one_primary_metric() -> None:
    with pytest.raises(ValueError, match="'rmse' already is the primary metric of regression"):
        metrics.register(metrics.Metric("other", ("regression",), metrics.rmse, "other", primary=True))
    with pytest.raises(ValueError, match="not an identifier"):
        metrics.register(metrics.Metric("mean error", ("regression",), metrics.rmse, "other"))
