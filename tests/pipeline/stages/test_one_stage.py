"""One-stage cells of Gaussian families, against plain scripts."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.stages.one_stage import OneStageTask
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.errors import NotSolvedError
from tests.pipeline.stages.one_stage_sweep import FOLDS, MAX_CERTIFICATES, OneStageRun, selected
from tests.tasks.methods import ONE_STAGE

CELLS = [
    ("wave", "regression", "l2-krr"),
    ("wave", "regression", "align-krr"),
    ("flowers", "classification", "l1-svm"),
    ("flowers", "regression", "l2-krr"),
    ("flowers", "regression", "align-krr"),
]


def test_the_rows_are_those_of_the_methods_that_support_a_problem(one_stage_run: OneStageRun) -> None:
    rows = read_rows(LocalStorage(one_stage_run[0]))
    found = rows[rows["method"].isin(MAX_CERTIFICATES)].groupby(["dataset", "task", "method"]).size()
    assert dict(found) == dict.fromkeys(CELLS, FOLDS)
    assert (rows["status"] == "ok").all()


@pytest.mark.parametrize(("name", "task", "method"), CELLS)
def test_rows_describe_the_stored_weights(one_stage_run: OneStageRun, name: str, task: str, method: str) -> None:
    root, _, trials = one_stage_run
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
        assert row["certificate"] <= MAX_CERTIFICATES[method]
        for where in ("train", "test"):
            assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-7)
            expected = plain.debiased_alignment(mu, where)
            assert row[f"debiased_alignment_{where}"] == pytest.approx(expected, abs=1e-9)


def test_weights_of_any_sign_report_the_alignment_of_the_kernel_that_is_fitted(one_stage_run: OneStageRun) -> None:
    root, _, trials = one_stage_run
    rows = read_rows(LocalStorage(root)).query("method == 'alignf-linear'")
    signed = 0
    for row in rows.to_dict("records"):
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{row['dataset']}/{row['task']}/alignf-linear", row["trial"])
        signed += (mu < 0).any()
        plain = trials[row["dataset"], row["task"], row["trial"]]
        for where in ("train", "test"):
            assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-5)
            expected = plain.debiased_alignment(mu, where)
            assert row[f"debiased_alignment_{where}"] == pytest.approx(expected, abs=1e-6)
    assert signed


@pytest.mark.parametrize(("name", "task", "method"), CELLS)
def test_paths_have_every_parameter_and_one_certificate_per_value(
    one_stage_run: OneStageRun, name: str, task: str, method: str
) -> None:
    root, plan, _ = one_stage_run
    assert list(pd.read_csv(root / "results/path.csv").columns) == [column.name for column in TABLES["path"].columns]
    values = plan.config.fit.path(task, ONE_STAGE[method])
    for trial in range(FOLDS):
        path = selected(root, "path", dataset=name, task=task, method=method, trial=trial)
        parameters = ["gamma", "gamma1", "regularisation"] if method == "align-krr" else ["regularisation"]
        assert [tuple(row) for row in path[parameters].to_numpy()] == values
        if method != "align-krr":
            assert path[["gamma", "gamma1"]].isna().all(axis=None)
        assert (path["certificate"].abs() <= MAX_CERTIFICATES[method]).all()  # rounding may make one negative
        (row,) = selected(root, "rows", dataset=name, task=task, method=method, trial=trial).to_dict("records")
        best = path.iloc[int(np.argmin(path["validation_error"]))]
        assert row["error"] == best["test_error"]
        assert row["validation_error"] == best["validation_error"]
        assert row["regularisation"] == best["regularisation"]
        assert row["certificate"] == best["certificate"]


def test_predictions_are_those_of_the_stored_weights(one_stage_run: OneStageRun) -> None:
    """The weights of l1-svm sum to Lambda, with C = 1; those of l2-krr have norm Lambda, with a ridge of 1."""
    root, _, trials = one_stage_run
    for name, task, method in CELLS:
        if method == "align-krr":
            continue  # the scale of its weights is not stored
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
def test_a_cell_that_is_not_solved_has_a_result_with_the_reason(
    one_stage_run: OneStageRun, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*arguments: Any) -> None:
        raise error

    monkeypatch.setattr("kernel_pipeline.stages.one_stage.learn", fail)
    output = one_stage_run[1].datasets[0].of(OneStageTask)[0].run(RunStore(LocalStorage(one_stage_run[0])))
    assert output.result.to_json() == {"status": f"failed: {error}"}
    assert not output.digests
