"""A sweep of views and a precomputed kernel, with steps fitted to all or to the training samples, against numpy."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import parsed, put
from tests.helpers.plain import Trial, trial_of
from tests.helpers.sweeps import flip, forget, run_here, write_results
from tests.pipeline.data.kernel_matrices import kernels, save

FOLDS = 3
ROWS = 48
RULES = ["unif", "align", "alignf"]
NAMES = [
    "left:gaussian(0.2)",
    "left:gaussian(median)",
    "right:polynomial(degree=2, gamma=0.5, coef0=1)",
    "right:linear",
    "string",
]
DATASET: dict[str, Any] = {
    "name": "patients",
    "task": ["regression", "classification"],
    "source": "file",
    "path": "patients.csv",
    "format": "csv",
    "target": "score",
    "positive": ["1"],
    "scale": "standard",
    "missing": "mean",
    "kernels": [
        {"family": "gaussian", "gamma": [0.2, "median"], "columns": ["a", "b", "c"], "name": "left"},
        {"family": "polynomial", "degree": 2, "gamma": 0.5, "columns": ["d", "e"], "name": "right"},
        {"family": "linear", "columns": ["d", "e"], "name": "right"},
        {"family": "precomputed", "path": "string.npy"},
    ],
}
Sweep = tuple[Path, Plan, list[tuple[str, Trial]]]


def config(fit_on: str) -> dict[str, Any]:
    return {
        "name": "fitted",
        "baselines": False,
        "methods": [*RULES, "l2-krr", "l1-svm"],
        "protocol": {"folds": FOLDS},
        "fit": {
            "krr": {"from": -12, "to": 0, "step": 4},
            "svm": {"from": 0, "to": 8, "step": 4},
            "l2-krr": {"from": 4, "to": 8, "step": 4},
            "l1-svm": {"from": 4, "to": 8, "step": 4},
        },
        "storage": {"tile": 20},
        "dataset": [DATASET | {"fit_on": fit_on}],
    }


def table() -> pd.DataFrame:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(ROWS, 5)) * [1, 3, 10, 2, 0.5] + [0, 5, 0, 1, 2], columns=list("abcde"))
    frame["score"] = (frame["a"] + frame["d"] + random.normal(size=ROWS) > 1).astype(int)
    frame.loc[random.choice(ROWS, 9, replace=False), "b"] = np.nan
    return frame


def dense_kernels(features: Floats, fitted_to: Any, string: Floats) -> Floats:
    """Return all kernels by scikit-learn, (p, m, m), with steps that are fitted to the given rows."""
    imputer = SimpleImputer(strategy="mean").fit(features[fitted_to])
    filled = imputer.transform(features)
    x = StandardScaler().fit(filled[fitted_to]).transform(filled)
    left, right = x[:, :3], x[:, 3:]
    distances = euclidean_distances(left[fitted_to])
    median = np.median(distances[np.triu_indices_from(distances, 1)])
    return np.array(
        [
            rbf_kernel(left, gamma=0.2),
            rbf_kernel(left, gamma=0.5 / median**2),
            polynomial_kernel(right, degree=2, gamma=0.5, coef0=1),
            linear_kernel(right),
            string,
        ]
    )


@pytest.fixture(scope="module", params=["all", "train"])
def sweep(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Return a finished run, its plan, and each trial of each task from whole matrices."""
    root = tmp_path_factory.mktemp(request.param)
    put(root, table().to_csv(index=False, float_format="%.17g"), "patients.csv")
    string = kernels(1, ROWS)[0]
    save(root / "string.npy", string)
    plan, (samples,), finished = run_here(root, parsed(config(request.param)))
    write_results(root, plan, finished)
    order, fold = samples.order, samples.fold
    features = table().drop(columns="score").to_numpy()[order]
    trials = []
    for task in DATASET["task"]:
        for number in range(FOLDS):
            held_out = np.isin(fold, [number, (number + 1) % FOLDS])
            fitted_to = ~held_out if request.param == "train" else np.full(ROWS, True)
            grams = dense_kernels(features, fitted_to, string[np.ix_(order, order)])
            trials.append((task, trial_of(samples, grams, task, number, FOLDS)))
    return root, plan, trials


def l2_krr_weights(trial: Trial, budget: float) -> Floats:
    """Compute the weights of `l2-krr`, which sum to one, by the interpolated iteration of Cortes et al. (2009)."""
    grams, y = trial.kernels[:, trial.train], trial.y[trial.train] - trial.y[trial.train].mean()
    weights = np.full(len(grams), budget / len(grams) ** 0.5)
    for _ in range(2000):
        alpha = np.linalg.solve(np.tensordot(weights, grams, 1) + np.eye(len(y)), y)
        forms = grams @ alpha @ alpha
        weights = (weights + budget * forms / np.linalg.norm(forms)) / 2
    return np.asarray(weights / weights.sum())


def test_statistics_and_weights_of_rules_equal_a_dense_recomputation(sweep: Sweep) -> None:
    root, plan, trials = sweep
    assert list(plan.datasets[0].kernels) == NAMES
    store = RunStore(LocalStorage(root))
    for place, (task, trial) in enumerate(trials):
        number, group = place % FOLDS, f"patients/{task}"
        for name, expected in (("M", trial.products), ("a", trial.a), ("trace", trial.trace)):
            found = store.read(STATISTICS, f"{group}/{name}", number)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(store.read(WEIGHTS, f"{group}/unif", number), 1 / len(NAMES), rtol=1e-9)
        ratio = trial.a / np.sqrt(np.diag(trial.products))
        np.testing.assert_allclose(store.read(WEIGHTS, f"{group}/align", number), ratio / ratio.sum(), rtol=1e-9)
        mu = store.read(WEIGHTS, f"{group}/alignf", number)
        slope = trial.products @ mu
        slope = (slope * (trial.a @ mu) / (mu @ slope) - trial.a) / np.abs(trial.a).max()
        assert (slope > -1e-9).all()
        assert np.abs(slope[mu > 0]).max() < 1e-9


def test_errors_equal_a_dense_recomputation(sweep: Sweep) -> None:
    root, _, trials = sweep
    store = RunStore(LocalStorage(root))
    rows = pd.read_csv(root / "results/rows.csv").set_index(["task", "method", "trial"])
    assert (rows["status"] == "ok").all()
    for place, (task, trial) in enumerate(trials):
        number = place % FOLDS
        for method in RULES:
            row = rows.loc[[(task, method, number)]].iloc[0]
            mu = store.read(WEIGHTS, f"patients/{task}/{method}", number)
            assert row["alignment_test"] == pytest.approx(trial.alignment(mu, "test"), rel=1e-9)
            (errors,) = trial.path(mu, [row["regularisation"]])
            assert row["error"] == pytest.approx(errors.test, rel=1e-9)
            assert row["validation_error"] == pytest.approx(errors.validation, rel=1e-9)
        method = "l2-krr" if task == "regression" else "l1-svm"
        row = rows.loc[[(task, method, number)]].iloc[0]
        mu = store.read(WEIGHTS, f"patients/{task}/{method}", number)
        if task == "regression":  # the weights have norm Lambda, and the ridge is 1
            kernel = row["regularisation"] / np.linalg.norm(mu) * trial.combined(mu)
            np.testing.assert_allclose(mu, l2_krr_weights(trial, row["regularisation"]), rtol=0, atol=1e-9)
            assert row["error"] == pytest.approx(trial.fit(kernel, 1.0).test, rel=1e-9)
        else:
            kernel = row["regularisation"] * trial.combined(mu)
            machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(kernel[trial.train], trial.y[trial.train])
            decisions = machine.decision_function(kernel[trial.test])
            wrong = np.sign(decisions) != trial.y[trial.test]
            # Within its gap, the solver may place a sample on either side of the boundary only if it is close to it.
            is_close = np.abs(decisions) < 0.005
            assert (wrong & ~is_close).mean() <= row["error"] <= (wrong | is_close).mean()
            assert is_close.sum() <= 1


def test_the_run_reports_what_the_steps_are_fitted_to(sweep: Sweep) -> None:
    root, plan, _ = sweep
    info = plan.datasets[0].info
    steps = "missing = 'mean', scale = 'standard', gamma = 'median'"
    passes = f"fit_on = 'train' ({steps}): 3 passes over the Gram matrices instead of 1"
    notes = [note.note for note in plan.notes()]
    assert "missing = 'mean': 9 of 240 feature values are imputed, in column 'b' (9)" in notes
    assert (passes in notes) == info.per_trial
    assert (root / "environment.json").read_text().count(f'"fit_on": "{info.fit_on}"') == 1
    summary = (root / "results/summary.md").read_text()
    assert ("fitted to the training folds of each trial: patients." in summary) == info.per_trial
    assert ("fitted to all samples, including those of the test folds: patients." in summary) != info.per_trial
    assert set(pd.read_csv(root / "results/summary.csv")["fit_on"]) == {info.fit_on}


def test_each_trial_has_its_own_gram_matrices(sweep: Sweep) -> None:
    root, plan, trials = sweep
    dataset, run = plan.datasets[0], kp.open_run(root, data_dir=root)
    back = np.argsort(RunStore(LocalStorage(root)).read(GRAM, "patients/order"))
    arrays = {array.name for array in dataset.arrays if array.group == GRAM and array.name.endswith("gram")}
    if not dataset.info.per_trial:
        assert arrays == {"patients/gram"}
        np.testing.assert_array_equal(run.gram("patients", NAMES[1]), run.gram("patients", NAMES[1], trial=1))
        return
    assert arrays == {f"patients/trials/{trial}/gram" for trial in range(FOLDS)}
    assert {task.fit_on.trial for task in dataset.of(TilesTask) if task.fit_on} == set(range(FOLDS))
    with pytest.raises(PipelineError, match="trial=0 to trial=2"):
        run.gram("patients", NAMES[1])
    with pytest.raises(PipelineError, match="trial 3 does not exist"):
        run.gram("patients", NAMES[1], trial=3)
    for trial in range(FOLDS):
        train = trials[trial][1].train[back]
        expected = trials[trial][1].raw[1]  # in the order of the folds
        found = run.gram("patients", NAMES[1], trial=trial)
        in_folds = np.argsort(back)[trials[trial][1].train]
        np.testing.assert_allclose(found[np.ix_(in_folds, in_folds)], expected, atol=1e-12)
        assert train.sum() == len(expected)


def test_projected_disk_space_equals_the_stored_bytes(sweep: Sweep) -> None:
    root, plan, _ = sweep
    stored = [path for group in root.glob("*.zarr") for path in group.rglob("*") if path.is_file()]
    assert plan.disk_bytes == sum(path.stat().st_size for path in stored if path.name != "zarr.json")


def test_a_damaged_run_is_verified_and_resumed_without_its_source(sweep: Sweep, tmp_path: Path) -> None:
    root = shutil.copytree(sweep[0], tmp_path / "run")
    per_trial = sweep[1].datasets[0].info.per_trial
    group, trial = ("patients/trials/1", "/1") if per_trial else ("patients", "")
    (root / "patients.csv").unlink()
    rows = (root / "results/rows.csv").read_bytes()
    resume = ["resume", str(root), "--cluster", "threads"]
    done = CliRunner().invoke(main, resume)
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0
    flip(root / f"gram.zarr/{group}/gram/c/0/0/1")
    found = CliRunner().invoke(main, ["verify", str(root)])
    assert found.exit_code == 4
    assert f"gram.zarr/{group}/gram/c/0/0/1 is damaged" in found.output
    repaired = CliRunner().invoke(main, ["verify", str(root), "--repair", "--cluster", "threads"])
    assert repaired.exit_code == 0, repaired.output
    forget(root, f"tiles/patients/0{trial}", f"reduce/patients/regression-classification{trial}")
    shutil.rmtree(root / f"gram.zarr/{group}/gram/c")
    done = CliRunner().invoke(main, resume)
    assert done.exit_code == 0, done.output
    assert (root / "results/rows.csv").read_bytes() == rows
    cleaned = CliRunner().invoke(main, ["clean", str(root)])
    assert cleaned.exit_code == 0, cleaned.output
    assert not list(root.glob(f"gram.zarr/{group}/gram/c"))
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0
