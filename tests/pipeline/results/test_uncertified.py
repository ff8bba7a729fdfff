"""Fits that are not certified are excluded from the choice of a regularisation value, and reported."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from kernel_pipeline.results import grid_notes
from kernel_pipeline.tasks.learners import align_krr, interior_point, l2_krr, ridge, svm, svm_machines
from tests.pipeline.results.test_undefined import notes_of, run


def test_ridges_without_a_certificate_are_excluded_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Residuals are about 2e-8 at the smallest ridge, and below 1e-11 at the others.
    for module in (ridge, grid_notes):
        monkeypatch.setattr(module, "MAX_RESIDUAL", 1e-10)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 2))
    fit = {"krr": {"from": -30, "to": 0, "step": 15}}
    target = features[:, 0] + rng.normal(size=200)
    done = run(tmp_path, features, target, [{"family": "gaussian", "log2_gamma": [-9, -8]}], fit=fit)
    path = pd.read_csv(tmp_path / "results/path.csv")
    excluded = path["certificate"] > 1e-10
    assert (path["regularisation"][excluded] == 2.0**-30).all()
    assert excluded.sum() == 10  # two methods in five trials
    assert path.loc[excluded, ["train_error", "validation_error", "test_error"]].isna().all(axis=None)
    assert path.loc[~excluded, ["train_error", "validation_error", "test_error"]].notna().all(axis=None)
    assert (pd.read_csv(tmp_path / "results/rows.csv")["regularisation"] > 2.0**-30).all()
    text = (
        "the value 9.31323e-10 of fit.krr is excluded from the choice in 5 of 5 trials, since no solution with a "
        "relative residual of at most 1e-10 was found; raise fit.krr.from (now -30)"
    )
    assert any(line.endswith(text) for line in notes_of(done))


def test_ridges_of_rank_one_families_without_a_certificate_are_excluded_and_reported(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(60, 3))
    features = np.column_stack([columns, columns[:, 0]])  # a repeated column: a tiny ridge has no accurate solution
    target = columns[:, 0] + rng.normal(size=60)
    fit = {"krr": {"from": -100, "to": 0, "step": 50}}
    done = run(tmp_path, features, target, [{"family": "rank-one"}], methods=["unif"], fit=fit)
    path = pd.read_csv(tmp_path / "results/path.csv")
    excluded = path["certificate"] > 1e-6
    assert (path["regularisation"] == 2.0**-100).equals(excluded)
    assert path.loc[excluded, ["train_error", "validation_error", "test_error"]].isna().all(axis=None)
    assert path.loc[~excluded, ["train_error", "validation_error", "test_error"]].notna().all(axis=None)
    text = "the value 7.88861e-31 of fit.krr is excluded from the choice in 5 of 5 trials"
    assert any(text in line for line in notes_of(done))
    with pytest.raises(kp.FailedError, match=r"the certificate of the fit is .*, and at most 1e-06 is allowed"):
        kp.open_run(tmp_path).model("data", "unif", regularisation=2.0**-100)


def test_values_of_c_without_a_certificate_are_excluded_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # libsvm's tolerance of 1e-3 reaches this limit for the small values of C only.
    monkeypatch.setattr(svm, "TOLERANCES", (1e-3,))
    for module in (svm, svm_machines, grid_notes):
        monkeypatch.setattr(module, "MAX_GAP", 3e-4)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 2))
    fit = {"svm": {"from": -4, "to": 16, "step": 10}}
    classes = np.where(features[:, 0] + rng.normal(size=200) > 0, 1.0, -1.0)
    done = run(
        tmp_path, features, classes, [{"family": "gaussian", "log2_gamma": [2, 3]}], task="classification", fit=fit
    )
    path = pd.read_csv(tmp_path / "results/path.csv")
    excluded = path["certificate"] > 3e-4
    assert (path["regularisation"][excluded] == 2.0**16).all()
    assert excluded.any()
    assert path["certificate"].notna().all()
    assert path.loc[excluded, ["train_error", "validation_error", "test_error"]].isna().all(axis=None)
    assert path.loc[~excluded, ["train_error", "validation_error", "test_error"]].notna().all(axis=None)
    text = "no solution with a relative duality gap of at most 0.0003 was found; lower fit.svm.to (now 16)"
    assert any("the value 65536 of fit.svm is excluded" in line and text in line for line in notes_of(done))


L1_SVM = {"from": -4, "to": 16, "step": 10}
L2_KRR = {"from": 0, "to": 20, "step": 10}
ALIGN_KRR = {
    "gamma": {"from": 0, "to": 0},
    "gamma1": {"from": -20, "to": -20},
    "gamma2": {"from": -40, "to": 0, "step": 10},
}


@pytest.mark.parametrize(
    ("method", "module", "steps", "grid", "family", "advice"),
    [
        ("l1-svm", interior_point, 12, L1_SVM, "gaussian", "lower fit.l1-svm.to (now 16)"),
        ("l1-svm", interior_point, 8, L1_SVM, "rank-one", "lower fit.l1-svm.to (now 16)"),
        ("l2-krr", l2_krr, 3, L2_KRR, "gaussian", "choose other values of fit.l2-krr"),
        ("l2-krr", l2_krr, 3, L2_KRR, "rank-one", "lower fit.l2-krr.to (now 20)"),
        ("align-krr", align_krr, 2, ALIGN_KRR, "gaussian", "lower fit.align-krr.gamma2.to (now 0)"),
        ("align-krr", align_krr, 4, ALIGN_KRR, "rank-one", "choose other values of fit.align-krr"),
    ],
)
def test_values_of_one_stage_methods_without_a_certificate_are_excluded_and_reported(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    module: ModuleType,
    steps: int,
    grid: dict[str, object],
    family: str,
    advice: str,
) -> None:
    monkeypatch.setattr(module, "MAX_STEPS", steps)  # too few steps for some of the values
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 3))
    target = features[:, 0] + rng.normal(size=60)
    is_svm = method == "l1-svm"
    kernels = [{"family": family} | ({"log2_gamma": [-3, -1]} if family == "gaussian" else {})]
    task = "classification" if is_svm else "regression"
    labels = np.sign(target) if is_svm else target
    done = run(tmp_path, features, labels, kernels, methods=[method], fit={method: grid}, task=task)
    assert (pd.read_csv(tmp_path / "results/rows.csv")["status"] == "ok").all()
    path = pd.read_csv(tmp_path / "results/path.csv")
    limit = {"l1-svm": 1e-4, "l2-krr": 1e-6, "align-krr": 1e-6}[method]
    excluded = path[path["certificate"] > limit]
    assert path["validation_error"].isna().equals(path["certificate"] > limit)
    assert 0 < len(excluded) < len(path)
    prefix = "gamma 1, gamma1 9.53674e-07, gamma2 " if method == "align-krr" else ""
    values = [
        f"({prefix}{value:g})" if prefix else f"{value:g}" for value in sorted(excluded["regularisation"].unique())
    ]
    subject = (
        f"the value {values[0]} of fit.{method} is"
        if len(values) == 1
        else (f"values {', '.join(values)} of fit.{method} are")
    )
    (note,) = [line for line in notes_of(done) if "excluded" in line]
    assert note == (
        f"note: {method} on data ({task}): {subject} excluded from the choice in {excluded['trial'].nunique()} of 5 "
        "trials, since no solution with a relative duality gap or KKT residual of at most "
        f"{limit:g} was found; {advice}"
    )
    assert note.partition("): ")[2] in set(pd.read_csv(tmp_path / "results/notes.csv")["note"])
