"""All built-in families in one sweep."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.views import gram_families
from kernel_pipeline.store.arrays import DATA, GRAM, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.kernels.family import FAMILIES, GramFamily
from tests.helpers.build import parsed, put_config, synthetic_values
from tests.tasks.kernels.references import by_scikit_learn

KERNELS: list[dict[str, Any]] = [
    {"family": "gaussian", "log2_gamma": [-2, 0]},
    {"family": "laplacian", "gamma": [0.1, 0.2, 0.5]},
    {"family": "matern", "nu": [0.5, 1.5, 2.5], "length_scale": [2, 1]},
    {"family": "rational-quadratic", "alpha": [0.5, 1]},
    {"family": "linear"},
    {"family": "polynomial", "degree": [2, 3]},
    {"family": "cosine"},
    {"family": "chi-squared"},
    {"family": "gaussian", "gamma": [0.3, 0.6]},
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    kernels = [*KERNELS, {"family": "gaussian", "gamma": "median"}]
    values = synthetic_values(rows=40, kernels=kernels, scale="minmax")
    config = put_config(folder, values | {"methods": ["unif", "alignf", "l2-krr"], "storage": {"tile": 16}})
    done = CliRunner().invoke(main, ["run", str(config), "--cluster", "threads", "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_the_sweep_has_every_built_in_gram_family() -> None:
    used = {kernel["family"] for kernel in KERNELS}
    built_in = {name for name, kind in FAMILIES.items() if kind.__module__.startswith("kernel_pipeline.tasks.kernels.")}
    assert used == {name for name in built_in if issubclass(FAMILIES[name], GramFamily)}


def test_stored_gram_matrices_and_their_shifts_equal_scikit_learn(root: Path) -> None:
    store = RunStore(LocalStorage(root))
    features = store.read(DATA, "made/features")
    families = gram_families(parsed(synthetic_values(kernels=KERNELS)).dataset[0], None)
    expected = [kernel for family in families for kernel in by_scikit_learn(family, features)]
    stored = store.array(GRAM, "made/gram")
    attributes: dict[str, Any] = dict(stored.attrs)
    assert len(attributes["kernels"]) == len(expected) + 1  # the median
    upper = np.triu_indices(40)
    for k, kernel in enumerate(expected):
        actual = np.asarray(stored[k]) + attributes["shift"][k]
        np.testing.assert_allclose(actual[upper], kernel[upper], rtol=0, atol=1e-12 * np.abs(kernel).max())


def test_every_cell_has_a_result_and_the_run_is_accepted(root: Path) -> None:
    rows = pd.read_csv(root / "results/rows.csv")
    assert (rows["status"] == "ok").all()
    assert pd.read_csv(root / "results/notes.csv")["note"].str.startswith("gaussian(median): gamma = ").any()
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0
