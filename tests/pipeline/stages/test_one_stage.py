"""One-stage cells and fits of single kernels of Gaussian families, and what theorems say: against plain scripts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.stages import one_stage
from kernel_pipeline.stages.cells import fit_kernel
from kernel_pipeline.stages.one_stage import EachKernelTask, OneStageTask
from kernel_pipeline.stages.samples import Split
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.errors import NotSolvedError
from tests.helpers.plain import Floats, Trial, aligned, gaussian_trial
from tests.helpers.sweeps import SMALL, run_here, small_config, write_results
from tests.tasks.methods import ONE_STAGE

FOLDS = 4
# The third kernel of wave does not vary.
GAMMAS = {"wave": [2.0**e for e in (-6, -5, -1000, 0, 1)], "flowers": [2.0**e for e in range(-3, 2)]}
FIT = SMALL["fit"] | {
    "l1-svm": {"from": 2, "to": 8, "step": 3},
    "l2-krr": {"from": 2, "to": 14, "step": 6},
    "align-krr": {
        "gamma": {"from": -2, "to": 0, "step": 2},
        "gamma1": {"from": -12, "to": -10, "step": 2},
        "gamma2": {"from": -20, "to": -10, "step": 10},
    },
}
PROMISED = {"l1-svm": 1e-4, "l2-krr": 1e-6, "align-krr": 1e-6}
Run = tuple[Path, Plan, dict[tuple[str, str, int], Trial]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("run")
    families = [[-6, -5], [-1000, -1000], [0, 1]]
    wave = {**SMALL["dataset"][0], "kernels": [{"family": "gaussian", "log2_gamma": ends} for ends in families]}
    config = small_config(
        methods=["l1-svm", "each-kernel", "l2-krr", "alignf", "alignf-linear", "align-krr"],
        fit=FIT,
        dataset=[wave, SMALL["dataset"][1]],
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_stage, "OPERATIONS_PER_TASK", 2 * 101**3)  # two kernels of wave per task
        plan, samples, finished = run_here(root, config)
    write_results(root, plan, finished)
    trials = {
        (loaded.name, task, trial): gaussian_trial(loaded, GAMMAS[loaded.name], task, trial, FOLDS)
        for loaded in samples
        for task in loaded.targets
        for trial in range(FOLDS)
    }
    return root, plan, trials


def selected(root: Path, table: str, **keys: Any) -> pd.DataFrame:
    found = pd.read_csv(root / f"results/{table}.csv")
    for key, value in keys.items():
        found = found[found[key] == value]
    return found


# Every kernel alone


@pytest.mark.parametrize(
    ("name", "task"), [("wave", "regression"), ("flowers", "regression"), ("flowers", "classification")]
)
def test_the_error_of_each_kernel_is_that_of_a_fit_of_it_alone(done: Run, name: str, task: str) -> None:
    root, plan, trials = done
    values = [value for (value,) in plan.config.fit.path(task)]
    for trial in range(FOLDS):
        plain = trials[name, task, trial]
        table = selected(root, "kernels", dataset=name, task=task, trial=trial)
        for k, error in enumerate(table["error"]):
            if not plain.trace[k]:
                assert np.isnan(error)
                continue
            path = plain.path(np.eye(len(plain.trace))[k], values)
            best = int(np.argmin([errors.validation for errors in path]))
            assert error == pytest.approx(path[best].test, rel=1e-5)


def test_a_kernel_that_is_constant_has_an_empty_error_and_the_others_have_one(done: Run) -> None:
    table = selected(done[0], "kernels")
    empty = table["error"].isna()
    assert (empty == (table["kernel"] == "gaussian(2^-1000)")).all()
    assert empty.sum() == FOLDS


def test_single_kernels_are_fitted_in_batches(done: Run) -> None:
    wave = [task.kernels for task in done[1].datasets[0].of(EachKernelTask) if task.trial == 0]
    assert wave == [(0, 1), (2, 3), (4,)]


def test_each_kernel_is_no_row_of_the_results(done: Run) -> None:
    rows = read_rows(LocalStorage(done[0]))
    assert "each-kernel" not in set(rows["method"])
    assert not (done[0] / "weights.zarr/wave/regression/each-kernel").exists()


def test_correlation_is_that_of_means_over_trials(done: Run) -> None:
    root, plan, _ = done
    table = pd.read_csv(root / "results/correlation.csv")
    expected = [(dataset.name, task) for dataset in plan.datasets for task in dataset.tasks_learned]
    assert list(zip(table["dataset"], table["task"], strict=True)) == expected
    for row in table.to_dict("records"):
        kernels = selected(root, "kernels", dataset=row["dataset"], task=row["task"])
        names = [name for name in kernels["kernel"].unique() if name != "gaussian(2^-1000)"]
        assert row["kernels"] == len(names) == (4 if row["dataset"] == "wave" else 5)
        mean = {
            column: np.array([kernels[column][kernels["kernel"] == name].mean() for name in names])
            for column in ("alignment_train", "uncentered_alignment_train", "error")
        }
        for column, source in (("centered", "alignment_train"), ("uncentered", "uncentered_alignment_train")):
            assert row[column] == pytest.approx(np.corrcoef(mean[source], 1 - mean["error"])[0, 1])


# One-stage cells


CELLS = [
    ("wave", "regression", "l2-krr"),
    ("wave", "regression", "align-krr"),
    ("flowers", "classification", "l1-svm"),
    ("flowers", "regression", "l2-krr"),
    ("flowers", "regression", "align-krr"),
]


def test_the_rows_are_those_of_the_methods_that_fit_a_task(done: Run) -> None:
    rows = read_rows(LocalStorage(done[0]))
    found = rows[rows["method"].isin(PROMISED)].groupby(["dataset", "task", "method"]).size()
    assert dict(found) == dict.fromkeys(CELLS, FOLDS)
    assert (rows["status"] == "ok").all()


@pytest.mark.parametrize(("name", "task", "method"), CELLS)
def test_rows_say_what_the_stored_weights_are(done: Run, name: str, task: str, method: str) -> None:
    root, _, trials = done
    rows = selected(root, "rows", dataset=name, task=task, method=method).to_dict("records")
    store = RunStore(LocalStorage(root))
    for trial, row in enumerate(rows):
        plain = trials[name, task, trial]
        mu = store.read(WEIGHTS, f"{name}/{task}/{method}", trial)
        assert (mu >= 0).all()
        assert mu.sum() == pytest.approx(1.0)
        assert not mu[plain.trace == 0].any()
        assert row["n_kernels"] == len(mu)
        assert row["n_active"] == np.count_nonzero(mu)
        assert row["certificate"] == store.read(WEIGHTS, f"{name}/{task}/certificate/{method}", trial)
        assert row["certificate"] <= PROMISED[method]
        for where in ("train", "test"):
            assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-7)


def test_weights_of_any_sign_report_the_alignment_of_the_kernel_that_is_fitted(done: Run) -> None:
    root, _, trials = done
    rows = read_rows(LocalStorage(root)).query("method == 'alignf-linear'")
    signed = 0
    for row in rows.to_dict("records"):
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{row['dataset']}/{row['task']}/alignf-linear", row["trial"])
        signed += (mu < 0).any()
        plain = trials[row["dataset"], row["task"], row["trial"]]
        for where in ("train", "test"):
            assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-5)
    assert signed


@pytest.mark.parametrize(("name", "task", "method"), CELLS)
def test_paths_have_every_parameter_and_a_certificate_a_value(done: Run, name: str, task: str, method: str) -> None:
    root, plan, _ = done
    assert list(pd.read_csv(root / "results/path.csv").columns) == [column.name for column in TABLES["path"].columns]
    values = plan.config.fit.path(task, ONE_STAGE[method])
    for trial in range(FOLDS):
        path = selected(root, "path", dataset=name, task=task, method=method, trial=trial)
        parameters = ["gamma", "gamma1", "regularisation"] if method == "align-krr" else ["regularisation"]
        assert [tuple(row) for row in path[parameters].to_numpy()] == values
        if method != "align-krr":
            assert path[["gamma", "gamma1"]].isna().all(axis=None)
        assert (path["certificate"].abs() <= PROMISED[method]).all()  # rounding may take one below 0
        (row,) = selected(root, "rows", dataset=name, task=task, method=method, trial=trial).to_dict("records")
        best = path.iloc[int(np.argmin(path["validation_error"]))]
        assert row["error"] == best["test_error"]
        assert row["validation_error"] == best["validation_error"]
        assert row["regularisation"] == best["regularisation"]
        assert row["certificate"] == best["certificate"]


def test_predictions_are_those_of_the_stored_weights(done: Run) -> None:
    """Of l1-svm the weights sum to Lambda and C is 1; those of l2-krr have norm Lambda and the ridge is 1."""
    root, _, trials = done
    for name, task, method in CELLS:
        if method == "align-krr":
            continue  # how large its weights are, is stored nowhere
        for row in selected(root, "rows", dataset=name, task=task, method=method).to_dict("records"):
            plain = trials[name, task, row["trial"]]
            mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", row["trial"])
            if method == "l2-krr":
                kernel = row["regularisation"] / np.linalg.norm(mu) * plain.combined(mu)
                assert row["error"] == pytest.approx(plain.fit(kernel, 1.0).test, rel=1e-3)
                alpha = np.linalg.solve(kernel[plain.train] + np.eye(len(plain.yc)), plain.yc)
                forms = np.einsum("i,kij,j->k", alpha, plain.inner, alpha)
                np.testing.assert_allclose(mu, forms / forms.sum(), rtol=1e-3, atol=1e-5)
            else:
                kernel = row["regularisation"] * plain.combined(mu)
                machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(kernel[plain.train], plain.y[plain.train])
                wrong = np.mean(machine.predict(kernel[plain.test]) != plain.y[plain.test])
                assert row["error"] == pytest.approx(wrong, abs=1.01 / plain.test.sum())


@pytest.mark.parametrize("error", [NotSolvedError("it stopped early"), np.linalg.LinAlgError("not definite")])
def test_a_cell_that_is_not_solved_is_a_result_that_says_why(
    done: Run, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr("kernel_pipeline.stages.one_stage.learn", fail)
    output = done[1].datasets[0].of(OneStageTask)[0].run(RunStore(LocalStorage(done[0])))
    assert output.result.to_json() == {"status": f"failed: {error}"}
    assert not output.digests


# Bounds


def label_ratio(labels: Floats) -> float:
    yc = labels - labels.mean()
    return float((yc**2).max() ** 2 / np.mean(np.outer(yc, yc) ** 2))


def test_bounds_are_what_the_theorems_say_of_two_stage_kernels(done: Run) -> None:
    root, _, trials = done
    bounds = pd.read_csv(root / "results/bounds.csv")
    assert list(bounds.columns) == [column.name for column in TABLES["bounds"].columns]
    assert list(bounds["method"].unique()) == ["alignf"]  # that of alignf-linear has negative weights
    rows = read_rows(LocalStorage(root)).set_index(["dataset", "task", "method", "trial"])
    path = pd.read_csv(root / "results/path.csv")
    for bound in bounds.to_dict("records"):
        key = bound["dataset"], bound["task"], bound["method"], bound["trial"]
        plain = trials[bound["dataset"], bound["task"], bound["trial"]]
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, "/".join(key[:3]), bound["trial"])
        kernel, y = plain.combined(mu), plain.y[plain.train]
        inner, n = kernel[plain.train], len(y)
        assert bound["alignment_train"] == rows["alignment_train"][key]

        ratio = max(np.diag(inner).max() ** 2 / np.mean(inner**2), label_ratio(y))
        assert bound["theorem12_evaluated"] == pytest.approx(
            18 * ratio * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))), rel=1e-6
        )
        # h(x) = E[y' K(x, x')] / sqrt(E[K^2] E[y^2]), with expectations over the training set (section 4.2).
        yc, norm = plain.yc, np.sqrt(np.mean(inner**2) * np.mean(plain.yc**2))
        h = (kernel @ yc / n) / norm
        rho = np.mean(yc * h[plain.train]) / np.sqrt(np.mean(yc**2))
        assert rho == pytest.approx(aligned(inner, y), rel=1e-9)
        if bound["task"] == "classification":
            gamma = np.sqrt(np.mean(inner**2, axis=1).max() / np.mean(inner**2)) / np.var(y)  # as in the footnote
            error, expected = np.mean(np.where(h >= 0, 1, -1)[plain.test] != plain.y[plain.test]), 1 - rho / gamma
        else:
            predicted = y.mean() + y.std() * h[plain.test]
            error, expected = np.sqrt(np.mean((predicted - plain.y[plain.test]) ** 2)), y.std() * np.sqrt(2 * (1 - rho))
        assert bound["predictor_error"] == pytest.approx(error, rel=1e-6)
        theorem, other = (
            ("theorem13_evaluated", "theorem14_evaluated")
            if bound["task"] == "classification"
            else ("theorem14_evaluated", "theorem13_evaluated")
        )
        assert bound[theorem] == pytest.approx(expected, rel=1e-6)
        assert np.isnan(bound[other])

        assert not (mu < 0).any()
        if bound["task"] == "classification":
            assert np.isnan(bound["theorem17_evaluated"])
            continue
        # Theorem 17 with Lambda_1 = 1; the centered Gaussian's diagonal is at most 4 before scaling.
        (best,) = [
            row
            for row in path.to_dict("records")
            if (row["dataset"], row["task"], row["method"], row["trial"]) == key
            and row["regularisation"] == rows["regularisation"][key]
        ]
        largest, lambda0 = 4 / plain.trace[plain.trace > 0].min(), best["regularisation"] / n
        m = np.abs(yc).max()
        m1 = 2 * (1 + np.sqrt(largest / lambda0)) * m
        m2 = 2 * largest / lambda0 * (1 + 1 / lambda0) * m
        spread = np.sqrt(np.log(1 / 0.05) / (2 * n))
        total = best["train_error"] ** 2 + 2 * m1 * m2 / n + (1 + 16 * m2 / m1) * m1 * m2 / 4 * spread
        assert bound["theorem17_evaluated"] == pytest.approx(np.sqrt(total), rel=1e-6)


def test_the_bound_on_the_error_is_the_error_and_more_that_a_large_ridge_takes_away() -> None:
    rng = np.random.default_rng(0)
    features, y = rng.normal(size=(30, 3)), rng.normal(size=30) + 5.0
    split = Split(y, np.arange(10, 30), np.arange(5, 10), np.arange(5))
    found = fit_kernel("regression", features @ features.T, split, (2.0**60,), signed=False, largest=1.0)
    assert found.theorems.theorem17 == pytest.approx(np.std(y[10:]), rel=1e-6)
    signed = fit_kernel("regression", features @ features.T, split, (2.0**60,), signed=True, largest=1.0)
    assert signed.theorems.is_empty


def test_kernels_have_their_unnormalised_alignment_and_their_bound(done: Run) -> None:
    root, _, trials = done
    for (name, task, trial), plain in trials.items():
        table = selected(root, "kernels", dataset=name, task=task, trial=trial)
        n, y = len(plain.yc), plain.y[plain.train]
        np.testing.assert_allclose(table["unnormalised_alignment_train"], plain.a / n**2, rtol=1e-6, atol=1e-15)
        np.testing.assert_allclose(table["alignment_train"], plain.alignments(), rtol=1e-6)
        np.testing.assert_allclose(table["alignment_test"], plain.test_alignments(), rtol=1e-6)
        np.testing.assert_allclose(
            RunStore(LocalStorage(root)).read(STATISTICS, f"{name}/{task}/theorem12", trial, undefined=True),
            table["theorem12_evaluated"],
        )
        for k, bound in enumerate(table["theorem12_evaluated"]):
            if not plain.trace[k]:
                assert np.isnan(bound)
                continue
            squares = np.mean((plain.inner[k] * plain.trace[k]) ** 2)
            ratio = max(1 / squares, label_ratio(y))  # K(x, x) is 1
            assert bound == pytest.approx(18 * ratio * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))), rel=1e-6)
