"""One sweep with an extension of every kind, each from its own file of this folder, and the effect of each."""

import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w
from click.testing import Result
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer

from kernel_pipeline.config.datasets import SOURCES
from kernel_pipeline.data.raw_table import READERS
from kernel_pipeline.results.figures.figure import FIGURES
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.store.arrays import GRAM, WEIGHTS, RunStore
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import FAMILIES
from kernel_pipeline.tasks.metrics import METRICS
from kernel_pipeline.tasks.weights.method import METHODS
from tests.faults.harness import command, tables
from tests.helpers.build import put_config
from tests.pipeline.test_extensions.registering import registered, toy_backend
from tests.pipeline.test_extensions.toy_family import ToyFamily
from tests.pipeline.test_extensions.toy_figure import FIGURE
from tests.pipeline.test_extensions.toy_method import TopKernels
from tests.pipeline.test_extensions.toy_metric import METRIC
from tests.pipeline.test_extensions.toy_rows import DATASET, FEATURES, TARGET, put_rows
from tests.pipeline.test_extensions.toy_source import JsonLinesDataset, read_json_lines
from tests.pipeline.test_extensions.toy_table import TABLE

FOLDS, DEGREES, COUNT = 3, (1, 2, 3), 2
DATASETS: list[dict[str, Any]] = [
    DATASET | {"kernels": [{"family": "toy-polynomial", "degrees": list(DEGREES), "scale": 0.5}]},
    {"name": "made", "source": "synthetic", "task": "regression", "rows": 30, "kernels": DATASET["kernels"]},
]
SWEEP: dict[str, Any] = {
    "name": "toys",
    "baselines": False,
    "methods": ["unif", {"method": "top-kernels", "count": COUNT}],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -12, "to": 0, "step": 4}},
    "storage": {"tile": 16},
    "dataset": DATASETS,
}
METHOD = f"top-kernels-count{COUNT}"


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(registered(FAMILIES, "toy-polynomial", ToyFamily))
        stack.enter_context(registered(METHODS, TopKernels.name, TopKernels))
        stack.enter_context(registered(METRICS, METRIC.name, METRIC))
        stack.enter_context(registered(SOURCES, "json-lines", JsonLinesDataset))
        stack.enter_context(registered(READERS, "json-lines", read_json_lines))
        stack.enter_context(registered(TABLES, TABLE.name, TABLE))
        stack.enter_context(registered(FIGURES, FIGURE.name, FIGURE))
        stack.enter_context(toy_backend())
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the config, the file of the data source and the profile of the cluster."""
    folder = tmp_path_factory.mktemp("toys")
    put_config(folder, SWEEP)
    put_rows(folder)
    (folder / "toy.toml").write_text(tomli_w.dumps({"backend": "toy", "jobs": 2, "label": "me"}))
    return folder


@pytest.fixture(scope="module")
def done(folder: Path, _registered: None) -> Result:
    """Return the result of the command that ran the sweep."""
    place = ("--data-dir", folder, "--out", folder / "run")
    result = command("run", folder / "sweep.toml", "--cluster", folder / "toy.toml", *place)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def root(folder: Path, done: Result) -> Path:
    """Return the directory of the finished run."""
    return folder / "run"


@pytest.fixture(scope="module")
def rows(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "results/rows.csv")


def files_of(root: Path) -> set[str]:
    """Return the files of the tables and figures in the ledger."""
    tables = Ledger(LocalStorage(root)).read().tables
    assert tables is not None
    return set(tables.digests)


def test_the_backend_gives_the_same_tables_as_any_other(folder: Path, done: Result, root: Path) -> None:
    assert "2 workers; dashboard: none for me" in done.output
    other = command("run", folder / "sweep.toml", "--cluster", "threads", "--workers", "2", "--out", folder / "threads")
    assert other.exit_code == 0, other.output
    assert tables(root) == tables(folder / "threads")


def test_every_cell_of_both_datasets_has_a_result(root: Path, rows: pd.DataFrame) -> None:
    assert (rows["status"] == "ok").all()
    assert rows.groupby(["dataset", "method"]).size().to_dict() == {
        (dataset["name"], method): FOLDS for dataset in DATASETS for method in ("unif", METHOD)
    }
    assert command("verify", root).exit_code == 0


def test_the_family_names_its_kernels_in_arrays_and_tables(root: Path) -> None:
    names = [f"toy-polynomial({degree})" for degree in DEGREES]
    assert RunStore(LocalStorage(root)).array(GRAM, "toy/gram").attrs["kernels"] == names
    kernels = pd.read_csv(root / "results/kernels.csv").query("dataset == 'toy'")
    assert kernels["kernel"].tolist() == names * FOLDS


@pytest.mark.parametrize("trial", range(FOLDS))
def test_family_source_method_and_metric_have_the_numbers_of_a_plain_script(
    root: Path, rows: pd.DataFrame, trial: int
) -> None:
    store = RunStore(LocalStorage(root))
    order, fold = store.read(GRAM, "toy/order"), store.read(GRAM, "toy/fold")
    features = ((FEATURES - FEATURES.min(axis=0)) / np.ptp(FEATURES, axis=0))[order]
    y, test = TARGET[order], fold == trial
    train = ~test & (fold != (trial + 1) % FOLDS)
    yc = y[train] - y[train].mean()
    kernels = [_centered((0.5 * features @ features.T + 1.0) ** degree, train) for degree in DEGREES]
    inner = [kernel[train] for kernel in kernels]
    alignments = [yc @ kernel @ yc / np.linalg.norm(kernel) for kernel in inner]
    weights = np.isin(np.arange(len(DEGREES)), np.argsort(alignments)[-COUNT:]) / COUNT
    np.testing.assert_allclose(store.read(WEIGHTS, f"toy/regression/{METHOD}", trial), weights, rtol=1e-12)
    combined = sum(mu * kernel / np.trace(kernel[train]) for mu, kernel in zip(weights, kernels, strict=True))
    (row,) = rows.query(f"dataset == 'toy' and method == '{METHOD}' and trial == {trial}").to_dict("records")
    ridge = KernelRidge(alpha=row["regularisation"], kernel="precomputed").fit(combined[train], yc)
    wrong = ridge.predict(combined[test]) + y[train].mean() - y[test]
    assert row["n_active"] == COUNT
    assert row["error"] == pytest.approx(np.sqrt(np.mean(wrong**2)), rel=1e-6)
    assert row["largest"] == pytest.approx(np.max(np.abs(wrong)), rel=1e-6)


def _centered(kernel: Floats, train: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
    """Return the kernel of all samples with the training samples, centered with the training means, (m, n)."""
    return np.asarray(KernelCenterer().fit(kernel[np.ix_(train, train)]).transform(kernel[:, train]))


def test_the_metric_follows_the_other_metrics_in_the_rows(root: Path, rows: pd.DataFrame) -> None:
    parquet = pd.read_parquet(root / "results/rows.parquet")
    assert list(rows.columns) == list(parquet.columns)
    assert list(rows.columns)[-4:] == ["r2", "largest", "debiased_alignment_test", "debiased_alignment_train"]
    assert (rows["largest"] > 0).all()


def test_the_source_is_recorded_and_a_change_of_its_file_is_detected(folder: Path, root: Path) -> None:
    recorded = tomllib.loads((root / "config.toml").read_text())["dataset"][0]
    assert recorded == DATASETS[0] | {"task": ["regression"], "fit_on": "all"}
    sources = json.loads((root / "environment.json").read_text())["sources"]
    assert {name: list(files) for name, files in sources.items()} == {"toy": ["toy.jsonl"]}
    put_rows(folder, factor=3.0)
    try:
        again = command("run", folder / "sweep.toml", "--cluster", "threads", "--out", root)
    finally:
        put_rows(folder)
    assert again.exit_code == 4, again.output
    assert "'toy'" in again.output


def test_the_table_is_computed_from_the_rows(root: Path, rows: pd.DataFrame) -> None:
    found = pd.read_csv(root / "results/ranges.csv")
    assert list(found.columns) == ["dataset", "task", "method", "least", "most"]
    expected = rows.groupby(["dataset", "task", "method"], sort=False)["error"].agg(["min", "max"])
    assert found["least"].tolist() == expected["min"].tolist()
    assert found["most"].tolist() == expected["max"].tolist()
    assert len(json.loads((root / "results/ranges.json").read_text())) == len(found)
    assert {"results/ranges.csv", "results/ranges.json"} <= files_of(root)


def test_the_figure_is_drawn_from_the_rows_verified_and_repaired(
    root: Path, rows: pd.DataFrame, tmp_path: Path
) -> None:
    copy = shutil.copytree(root, tmp_path / "run")
    path = copy / "figures/bars.svg"
    content = path.read_bytes()
    bars = re.findall(r'<path d="M \S+ (\S+) L \S+ \S+ L \S+ (\S+) [^"]*"[^>]*style="fill: #0072b2"', content.decode())
    heights = np.array([float(bottom) - float(top) for bottom, top in bars])
    errors = rows["error"].to_numpy()
    np.testing.assert_allclose(heights / heights.max(), errors / errors.max(), atol=1e-3)
    assert "figures/bars.svg" in files_of(copy)
    path.write_bytes(content.replace(b"path", b"text"))
    assert "figures/bars.svg is damaged" in command("verify", copy).output
    assert command("resume", copy, "--cluster", "threads").exit_code == 0
    assert path.read_bytes() == content
    path.with_name("mine.svg").write_text("mine")
    assert "figures/mine.svg is not recorded in the ledger" in command("verify", copy).output
