"""Features of extreme size through the whole pipeline, against whole matrices in extended precision.

The reference takes exact differences and `expm1`, and centers before it rounds to double precision. It shares only the
solvers with the pipeline, which have their own tests.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.centering import positive_part
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.one_stage import learn
from kernel_pipeline.tasks.learners.paths import fit_path
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.statistics.statistics import Statistics
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from tests.helpers.sweeps import run_here, write_results
from tests.tasks import dense
from tests.tasks.dense import Extended, Floats
from tests.tasks.methods import ONE_STAGE, RULES

FOLDS = 3
METHODS = [*RULES, *ONE_STAGE, "each-kernel"]
OUTLIER = 7
SIZES = {
    # name: (factor of every column, log2_gamma); a column of 1e7 beside others of size one
    "tiny": (2.0**-20, (36, 40)),
    "wide": (2.0**-20, (0, 4)),
    "huge": (1.0, (-3, 1)),
    # one sample of size 100 beside others of 2^-20, and one of 1e7 beside others of size one
    "outlier": (2.0**-20, (-2, 0)),
    "wide-outlier": (1.0, (-42, -40)),
}


def features_of(name: str, rng: np.random.Generator) -> Floats:
    features = rng.normal(size=(72, 4)) * SIZES[name][0]
    if name == "huge":
        # Groups of samples that are close to each other, far from the origin and from the other groups.
        features[:, 2] = 1e7 * rng.integers(-2, 3, size=72) + rng.normal(size=72)
    if name.endswith("outlier"):
        features[OUTLIER, 2] = 1e7 if name == "wide-outlier" else 100.0
    return np.asarray(features)


@pytest.fixture(scope="module", params=[*SIZES])
def done(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Plan, PreparedDataset]:
    root = tmp_path_factory.mktemp(request.param)
    rng = np.random.default_rng(5)
    features = features_of(request.param, rng)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    smooth = np.sin(scaled[:, 0]) + 0.5 * scaled[:, 1] + 0.1 * rng.normal(size=72)
    ratings = np.digitize(smooth, np.quantile(smooth, [0.2, 0.4, 0.6, 0.8]))
    np.savez(root / "data.npz", features=features, target=ratings)
    plan, (samples,), finished = run_here(root, _config(request.param))
    write_results(root, plan, finished)
    return request.param, root, plan, samples


def _config(name: str) -> Config:
    dataset: dict[str, Any] = {
        "name": "data",
        "task": ["regression", "classification"],
        "source": "file",
        "path": "data.npz",
        "format": "npz",
        "positive": ["3", "4"],
        "kernels": [{"family": "gaussian", "log2_gamma": list(SIZES[name][1])}],
    }
    return parse_config(
        {
            "name": "precision",
            "baselines": False,
            "methods": METHODS,
            "protocol": {"folds": FOLDS},
            "fit": {
                "krr": {"from": -16, "to": 0, "step": 4},
                "svm": {"from": 0, "to": 12, "step": 4},
                "l1-svm": {"from": 0, "to": 12, "step": 4},
                "l2-krr": {"from": 0, "to": 16, "step": 4},
                "align-krr": {"gamma1": {"from": -20, "to": -20}, "gamma2": {"from": -16, "to": -8, "step": 4}},
            },
            "storage": {"tile": 25},
            "dataset": [dataset],
        },
        "a test",
    )


class Reference:
    """The kernels of one trial, centered and of trace one on the training set."""

    def __init__(self, name: str, samples: PreparedDataset, task: str, trial: int) -> None:
        self.task, self.y = task, samples.targets[task]
        self.train = np.flatnonzero(~np.isin(samples.fold, [trial, (trial + 1) % FOLDS]))
        test, validation = (np.flatnonzero(samples.fold == f) for f in (trial, (trial + 1) % FOLDS))
        self.split = Split(self.y[:, None], self.train, validation, test)
        assert isinstance(samples.features, np.ndarray)
        distances = dense.squared_distances(samples.features, samples.features)
        lo, hi = SIZES[name][1]
        shifted = np.stack([np.expm1(-(np.longdouble(2.0) ** e) * distances) for e in range(lo, hi + 1)])
        centered = np.stack([self._center(kernel) for kernel in shifted])
        traces = np.trace(centered[:, self.train], axis1=1, axis2=2)
        self.kernels: Floats = (centered / traces[:, None, None]).astype(np.float64)
        inside = dense.dense_statistics(shifted, self.y, self.train).trace_one()
        self.statistics = Statistics(inside.M, inside.a, inside.trace, inside.label_norm)

    def _center(self, kernel: Extended) -> Extended:
        columns = kernel[:, self.train]
        means = columns.mean(axis=1)
        return np.asarray(columns - means[:, None] - means[self.train] + means[self.train].mean())

    def fit(self, kernel: Floats, values: list[tuple[float, ...]]) -> float:
        centered = TrialKernel.of_centered(kernel, self.split.train, self.split.held_out)
        path = fit_path(self.task, centered, self.split, FitOptions([value for (value,) in values]))
        return float(path.test_errors[path.best] or 0.0)

    def error(self, method: str, values: list[tuple[float, ...]]) -> float:
        if method in ONE_STAGE:
            varies = np.ones(len(self.kernels), dtype=bool)
            kernels = GramKernels(self.kernels[:, self.train], self.kernels[:, self.split.held_out], varies)
            found = learn(ONE_STAGE[method], self.task, kernels, self.split, values)
            return float(found.path.test_errors[found.path.best] or 0.0)
        rules = {rule.method_id: rule for rule in RULES.values()}
        mu, _ = rules[method].weights(GramStatistics(self.statistics))
        combined = np.tensordot(mu, self.kernels, 1)
        return self.fit(positive_part(combined, self.train) if (mu < 0).any() else combined, values)


def tolerance(name: str, reference: Reference, samples: PreparedDataset) -> float:
    """Return the relative tolerance, large for a held-out outlier, whose large kernel values lose most digits."""
    held_out = OUTLIER not in samples.order[reference.train]
    return 1e-3 if name.endswith("outlier") and held_out else 1e-8


def test_every_error_equals_that_of_exact_kernels(done: tuple[str, Path, Plan, PreparedDataset]) -> None:
    name, root, plan, samples = done
    references = {(task, t): Reference(name, samples, task, t) for task in samples.targets for t in range(FOLDS)}
    rows = read_rows(LocalStorage(root))
    assert (rows["status"] == "ok").all(), rows["status"].unique()
    found = set()
    for row in rows.to_dict("records"):
        task, method = str(row["task"]), str(row["method"])
        reference = references[task, int(row["trial"])]
        expected = reference.error(method, plan.config.fit.path(task, ONE_STAGE.get(method)))
        assert row["error"] == pytest.approx(expected, rel=tolerance(name, reference, samples)), (task, method)
        found.add((task, method))
    assert len(found) == 2 * len(RULES) + len(ONE_STAGE)


def test_the_error_of_every_single_kernel_equals_that_of_the_exact_one(
    done: tuple[str, Path, Plan, PreparedDataset],
) -> None:
    import pandas as pd

    name, root, plan, samples = done
    kernels = pd.read_csv(root / "results/kernels.csv")
    assert (kernels["status"] == "ok").all()
    for (task, trial), group in kernels.groupby(["task", "trial"]):
        reference = Reference(name, samples, str(task), int(str(trial)))
        values = plan.config.fit.path(str(task))
        expected = [reference.fit(kernel, values) for kernel in reference.kernels]
        np.testing.assert_allclose(group["error"], expected, rtol=tolerance(name, reference, samples))


def test_columns_that_are_subtracted_directly_are_named_once(done: tuple[str, Path, Plan, PreparedDataset]) -> None:
    name, _, plan, samples = done
    direct = name == "huge" or name.endswith("outlier")
    assert len(samples.notes) == direct
    said = [line for line in lines(plan.notes()) if "computed directly" in line]
    assert len(said) == direct
    if said:
        assert said[0].startswith("note: dataset 'data': columns '2'")
