"""A model on the training rows of a trial, with its regularisation, gives the stored predictions of the trial."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.datasets import load_linnerud, load_wine, make_friedman1

import kernel_pipeline as kp
from kernel_pipeline.store.arrays import GRAM, PREDICTIONS, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.folds import trials
from tests.helpers.sweeps import run_here, small_config
from tests.pipeline.models.example_run import DATASETS, FOLDS, METHODS, clinic_table, documents, sparse_rows

TRIAL = 1


def raw_rows(root: Path, dataset: str) -> Any:
    """Return all rows of the source, in the form in which a user has them."""
    if dataset == "wave":
        return pd.DataFrame(make_friedman1(60, 10, noise=1.0, random_state=np.random.RandomState(3))[0])
    if dataset in ("wines", "body"):
        return (load_wine if dataset == "wines" else load_linnerud)(as_frame=True).data
    if dataset == "reviews":
        return pd.Series(documents()[1])
    if dataset == "opinions":
        return pd.read_csv(root / "opinions.csv")
    return pd.DataFrame(sparse_rows()[0]) if dataset == "sparse" else pd.read_csv(root / "clinic.csv")


CELLS = [(dataset["name"], method) for dataset in DATASETS for method in METHODS]
CELLS += [("wave", "l2-krr"), ("wave", "align-krr"), ("clinic", "l1-svm"), ("clinic-train", "l1-svm")]
CELLS += [(name, method) for name in ("clinic", "sparse") for method in ("alignf-plus-upper0.4", "hsic")]
CELLS += [("wines", "alignf-ridge-ridge0.1"), ("opinions", "alignf-ridge-ridge0.1")]
CELLS += [("sparse", "l2-krr"), ("sparse", "align-krr"), ("columns", "l1-svm"), ("opinions", "l1-svm")]


@pytest.mark.parametrize(("dataset", "method"), CELLS)
def test_a_model_of_a_trial_reproduces_its_stored_predictions(root: Path, dataset: str, method: str) -> None:
    store = RunStore(LocalStorage(root))
    order, fold = (np.asarray(store.read(GRAM, f"{dataset}/{name}")) for name in ("order", "fold"))
    (problem,) = next(known.task for known in kp.open_run(root).config.dataset if known.name == dataset)
    held_out = np.isin(fold, [trials(FOLDS)[TRIAL].test, trials(FOLDS)[TRIAL].validation])
    stored = store.read(PREDICTIONS, f"{dataset}/{problem}/{method}", TRIAL, allow_nan=True)
    model = kp.open_run(root).model(dataset, method, trial=TRIAL)
    assert model.facts.samples == int((~held_out).sum())
    rows = raw_rows(root, dataset)
    if dataset == "sparse":
        rows = scipy.sparse.csr_array(rows.to_numpy())[order[held_out]]
    else:
        rows = rows.iloc[order[held_out]]
    np.testing.assert_allclose(model.values(rows), stored[held_out], rtol=0, atol=1e-9)


def test_trials_of_other_repeats_have_their_own_rows(tmp_path: Path) -> None:
    clinic_table().to_csv(tmp_path / "clinic.csv", index=False)
    datasets = [dataset for dataset in DATASETS if dataset["name"] in ("wave", "clinic-train")]
    run_here(tmp_path, small_config(methods=["alignf"], protocol={"folds": 3, "repeats": 2}, dataset=datasets))
    store, run = RunStore(LocalStorage(tmp_path)), kp.open_run(tmp_path)
    for dataset, problem in (("wave", "regression"), ("clinic-train", "classification")):
        order = np.asarray(store.read(GRAM, f"{dataset}/order"))
        stored = store.read(PREDICTIONS, f"{dataset}/{problem}/alignf", 3 + TRIAL, allow_nan=True)
        held_out = ~np.isnan(stored[:, 0])
        model = run.model(dataset, "alignf", trial=TRIAL, repeat=1)
        assert model.facts.samples == int((~held_out).sum())
        rows = raw_rows(tmp_path, dataset).iloc[order[held_out]]
        np.testing.assert_allclose(model.values(rows), stored[held_out], rtol=0, atol=1e-9)
        weights, trace = (store.read(*name, 3 + TRIAL) for name in _stored_names(dataset, problem))
        kernel = run.combined(dataset, "alignf", trial=TRIAL, repeat=1)
        np.testing.assert_array_equal(kernel.weights, weights)
        grams = [run.gram(dataset, name, trial=TRIAL, repeat=1) for name in kernel.kernels]
        np.testing.assert_allclose(kernel.matrix(), np.tensordot(weights / trace, grams, 1), rtol=0, atol=1e-12)


def _stored_names(dataset: str, problem: str) -> list[tuple[str, str]]:
    return [(WEIGHTS, f"{dataset}/{problem}/alignf"), (STATISTICS, f"{dataset}/{problem}/trace")]


def test_values_of_several_grids_have_a_median_in_each(root: Path) -> None:
    run = kp.open_run(root)
    values = [run.model("wave", "align-krr", trial=trial).facts.regularisation for trial in range(FOLDS)]
    found = run.model("wave", "align-krr").facts.regularisation
    assert found == tuple(np.median(values, axis=0))
    assert run.model("wave", "align-krr", regularisation=(1.0, 2.0, 3.0)).facts.regularisation == (1.0, 2.0, 3.0)
    with pytest.raises(kp.PipelineError, match="align-krr needs 3 values; got 1"):
        run.model("wave", "align-krr", regularisation=1.0)
    with pytest.raises(kp.PipelineError, match="regularisation: values must be positive and finite; got -1"):
        run.model("wave", "alignf", regularisation=-1)


def test_a_model_of_all_rows_uses_every_row_and_the_median_value(root: Path) -> None:
    run = kp.open_run(root)
    model = run.model("clinic-train", "alignf")
    assert model.facts.samples == 60
    trial_values = [run.model("clinic-train", "alignf", trial=trial).facts.regularisation for trial in range(FOLDS)]
    assert model.facts.regularisation == np.median(trial_values)
    rows = pd.read_csv(root / "clinic.csv")
    # With all rows, it makes no difference what the steps are fitted to.
    other = run.model("clinic", "alignf", regularisation=model.facts.regularisation)
    np.testing.assert_allclose(model.values(rows), other.values(rows), rtol=0, atol=1e-9)
    assert set(model.predict(rows)) == {"healthy", "ill"}
    assert (model.predict(rows) == rows["outcome"]).mean() > 0.6
    assert list(model.classes_) == ["healthy", "ill"]
    assert model.weights_.index.tolist() == [
        "numbers:gaussian(0.5)",
        "numbers:gaussian(median)",
        "answers:linear",
    ]
    assert model.weights_.sum() == pytest.approx(1.0)
