"""A plug-in with a data-dependent parameter gives the same kernels in sweeps, models, fits by rows and similarities."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import kernel_pipeline as kp
from kernel_pipeline.store.arrays import GRAM, PREDICTIONS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.folds import trials
from tests.helpers.plugin_packages import install, plugin_folders
from tests.helpers.sweeps import run_here, small_config

SOURCE = """
from dataclasses import dataclass, replace

import numpy as np
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.parameters import parameter

@dataclass(frozen=True)
class Mine(GramFamily):
    scale: float | None = parameter("mean square of the features", gt=0, default=None)

    def names(self):
        return ("mine",)

    def fitted_steps(self):
        return ("scale",)

    def fitted(self, samples):
        return self if self.scale else replace(self, scale=float((samples.reference**2).mean()))

    def prepare(self, samples):
        x = samples.features

        def fill(rows, columns, out):
            out[0] = np.exp(x[rows] @ x[columns].T / (100.0 * self.scale))

        return fill
"""
MINE = {"family": "mine"}
TRIAL = 1


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_a_model_of_a_trial_has_the_parameter_of_the_sweep(
    fit_on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with plugin_folders(monkeypatch) as add:
        add(install(tmp_path / "site", SOURCE))
        dataset = {"name": "wave", "source": "synthetic", "task": "regression", "rows": 60, "kernels": [MINE]}
        run_here(
            tmp_path, small_config(methods=["unif"], protocol={"folds": 3}, dataset=[dataset | {"fit_on": fit_on}])
        )
        store = RunStore(LocalStorage(tmp_path))
        order, fold = (np.asarray(store.read(GRAM, f"wave/{name}")) for name in ("order", "fold"))
        held_out = ~np.isin(fold, trials(3)[TRIAL].train)
        stored = store.read(PREDICTIONS, "wave/regression/unif", TRIAL, allow_nan=True)
        model = kp.open_run(tmp_path).model("wave", "unif", trial=TRIAL)
        rows = make_friedman1(60, 10, noise=1.0, random_state=np.random.RandomState(3))[0]
        np.testing.assert_allclose(model.values(rows[order[held_out]]), stored[held_out], rtol=0, atol=1e-9)


def test_similarities_do_not_depend_on_the_size_of_tiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(90, 4)) * np.linspace(0.5, 3.0, 90)[:, None]
    views = {"x": x, "y": x @ rng.normal(size=(4, 3))}
    with plugin_folders(monkeypatch) as add:
        add(install(tmp_path / "site", SOURCE))
        whole, tiled = (kp.kernel_similarity(views, kernel=MINE, tile_size=size) for size in (90, 17))
    first, second = (np.exp(view @ view.T / (100.0 * (view**2).mean())) for view in views.values())
    expected = kp.centered_alignment(first, second, debiased=True)
    for found in (whole, tiled):
        np.testing.assert_allclose(found.to_numpy()[0, 1], expected, rtol=0, atol=1e-10)
