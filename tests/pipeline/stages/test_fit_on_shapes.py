"""Statistics of steps fitted to each training set, over shapes, tiles, folds and fixed test sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel, rbf_kernel
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import parsed, put
from tests.helpers.plain import trial_of
from tests.helpers.sweeps import run_here

SCALERS: dict[str, Any] = {"standard": StandardScaler, "minmax": MinMaxScaler}


def config(folds: int, tile: int, **dataset: Any) -> dict[str, Any]:
    common = {"name": "d", "task": "regression", "source": "file", "path": "d.csv", "format": "csv", "target": "y"}
    kernels = [{"family": "gaussian", "gamma": "median"}, {"family": "linear"}]
    return {
        "name": "shapes",
        "baselines": False,
        "methods": ["unif"],
        "protocol": {"folds": folds},
        "storage": {"tile": tile},
        "fit": {"krr": {"from": 0, "to": 0}},
        "dataset": [common | {"kernels": kernels, "fit_on": "train", **dataset}],
    }


@given(
    rows=st.integers(12, 30),
    columns=st.integers(1, 3),
    folds=st.integers(3, 5),
    tile=st.integers(3, 40),
    scale=st.sampled_from(sorted(SCALERS)),
    fixed_test=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=10)
def test_statistics_of_any_shape_equal_a_dense_recomputation(
    tmp_path_factory: pytest.TempPathFactory,
    rows: int,
    columns: int,
    folds: int,
    tile: int,
    scale: str,
    fixed_test: bool,
    seed: int,
) -> None:
    root, random = tmp_path_factory.mktemp("shapes"), np.random.default_rng(seed)
    table = pd.DataFrame(random.normal(size=(rows, columns))).add_prefix("x")
    frame = table.assign(y=random.normal(size=rows), held=(np.arange(rows) % 6 == 0).astype(int))
    put(root, frame.to_csv(index=False, float_format="%.17g"), "d.csv")
    marked: dict[str, Any] = {"test": "held"} if fixed_test else {"drop": ["held"]}
    plan, (samples,), finished = run_here(root, parsed(config(folds, tile, scale=scale, **marked)))
    assert all(not report.failures for report in finished.values())
    for number in range(folds):
        held_out = [folds, number] if fixed_test else [number, (number + 1) % folds]
        train = ~np.isin(samples.fold, held_out)
        raw = table.to_numpy()[samples.order]
        x = SCALERS[scale]().fit(raw[train]).transform(raw)
        distances = euclidean_distances(x[train])
        median = np.median(distances[np.triu_indices_from(distances, 1)])
        grams = np.array([rbf_kernel(x, gamma=0.5 / median**2), linear_kernel(x)])
        trial = trial_of(samples, grams, "regression", number, folds, fixed_test=fixed_test)
        for name, expected in (("M", trial.products), ("a", trial.a), ("trace", trial.trace)):
            found = RunStore(LocalStorage(root)).read(STATISTICS, f"d/regression/{name}", number)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    stored = [path for group in Path(root).glob("*.zarr") for path in group.rglob("*") if path.is_file()]
    assert plan.disk_bytes == sum(path.stat().st_size for path in stored if path.name != "zarr.json")
