"""Fits that are not certified are excluded from the choice of a regularisation value, and reported."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from kernel_pipeline.results import notes
from kernel_pipeline.tasks.learners import ridge, svm, svm_machines
from tests.pipeline.results.test_undefined import notes_of, run


def test_ridges_without_a_certificate_are_excluded_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Residuals are about 2e-8 at the smallest ridge, and below 1e-11 at the others.
    for module in (ridge, notes):
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
    text = "the ridges 9.31323e-10 are excluded from the choice in 5 of 5 trials, since the relative residual of their"
    assert any(text in line for line in notes_of(done))


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
    text = "the ridges 7.88861e-31 are excluded from the choice in 5 of 5 trials"
    assert any(text in line for line in notes_of(done))
    with pytest.raises(kp.FailedError, match=r"the certificate of the fit is .*, and at most 1e-06 is allowed"):
        kp.open_run(tmp_path).model("data", "unif", regularisation=2.0**-100)


def test_values_of_c_without_a_certificate_are_excluded_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # libsvm's tolerance of 1e-3 reaches this limit for the small values of C only.
    monkeypatch.setattr(svm, "TOLERANCES", (1e-3,))
    for module in (svm, svm_machines, notes):
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
    text = "since the relative duality gap of their solutions is above 0.0003; lower fit.svm.to"
    assert any("the values of C 65536 are excluded" in line and text in line for line in notes_of(done))
