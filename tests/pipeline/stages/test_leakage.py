"""With `fit_on = "train"`, held-out samples of a trial affect only their own kernel values, and no earlier step."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.build import parsed, put
from tests.helpers.sweeps import run_here, write_results

FOLDS = 4
ROWS = 80
TABLE: dict[str, Any] = {
    "name": "d",
    "task": "classification",
    "source": "file",
    "path": "d.csv",
    "format": "csv",
    "target": "y",
    "scale": "minmax",
    "kernels": [{"family": "gaussian", "log2_gamma": [3, 4]}],
}
DOCUMENTS: dict[str, Any] = {
    "name": "d",
    "task": "classification",
    "source": "text",
    "path": "d.txt",
    "kernels": [{"family": "rank-one", "features": "unigrams", "top": 3}],
}


def sweep(**dataset: Any) -> dict[str, Any]:
    grid = {"svm": {"from": 0, "to": 10, "step": 2}}
    return {
        "name": "s",
        "baselines": False,
        "methods": ["unif", "alignf"],
        "protocol": {"folds": FOLDS},
        "fit": grid,
        "dataset": [dataset],
    }


def first_trial(folder: Path, content: str, **dataset: Any) -> tuple[dict[str, Any], float]:
    """Return the stored statistics and weights of trial 0, by name, and the test error of `unif`."""
    folder.mkdir()
    put(folder, content, dataset["path"])
    plan, _, finished = run_here(folder, parsed(sweep(**dataset)))
    rows = write_results(folder, plan, finished)
    store, group = RunStore(LocalStorage(folder)), "d/classification"
    names = plan.datasets[0].kernels
    a = dict(zip(names, store.read(STATISTICS, f"{group}/a", 0), strict=True))
    mu = dict(zip(names, store.read(WEIGHTS, f"{group}/alignf", 0), strict=True))
    error = rows.query("method == 'unif' and trial == 0")["error"].iloc[0]
    return {"a": a, "alignf": mu}, float(error)


def held_out_rows(folder: Path, content: str, **dataset: Any) -> Any:
    """Return the rows of the source that are in the test fold of trial 0."""
    put(folder, content, dataset["path"])
    config = parsed(sweep(**dataset))
    samples = prepare_dataset(config, config.dataset[0], folder)
    return samples.order[samples.fold == 0]


def table(outlier: int | None = None) -> str:
    """Return a table with a feature that predicts the class and ten noise features, which may have one outlier."""
    random = np.random.default_rng(2)
    y = np.arange(ROWS) % 2
    frame = pd.DataFrame(random.random((ROWS, 10))).add_prefix("noise")
    if outlier is not None:
        frame.loc[outlier] = 1000.0
    return frame.assign(told=y + 0.1 * random.random(ROWS), y=y).to_csv(index=False)


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_a_held_out_outlier_affects_the_scaling_only_if_it_is_fitted_to_all_samples(
    tmp_path: Path, fit_on: str
) -> None:
    rows = held_out_rows(tmp_path, table(), **TABLE)
    outlier = int(rows[0])
    plain, plain_error = first_trial(tmp_path / "plain", table(), **TABLE, fit_on="train")
    planted, error = first_trial(tmp_path / "planted", table(outlier), **TABLE, fit_on=fit_on)
    if fit_on == "all":  # the outlier shrinks the noise of the training samples to almost nothing
        assert error < plain_error - 0.1
        assert planted["a"] != plain["a"]
    else:
        for name, values in planted.items():  # rounding depends on all samples
            np.testing.assert_allclose(list(values.values()), list(plain[name].values()), rtol=1e-10)
        assert error >= plain_error - 1.5 / len(rows)  # only the outlier itself may be predicted otherwise


def documents(often: Any = ()) -> str:
    """Return documents with a rare word that predicts the class, which some documents may contain often."""
    random = np.random.default_rng(4)
    lines = []
    for row in range(ROWS):
        words = random.choice(["one", "two", "three"], size=6).tolist()
        words += ["told"] * (1 if row % 2 else 0)
        words += ["told"] * (100 if row in often and row % 2 else 0)
        lines.append(f"{row % 2} {' '.join(words)}\n")
    return "".join(lines)


@pytest.mark.parametrize("fit_on", ["all", "train"])
def test_held_out_documents_affect_the_vocabulary_only_if_it_is_fitted_to_all_samples(
    tmp_path: Path, fit_on: str
) -> None:
    rows = held_out_rows(tmp_path, documents(), **DOCUMENTS)
    plain, plain_error = first_trial(tmp_path / "plain", documents(), **DOCUMENTS, fit_on="train")
    planted, error = first_trial(tmp_path / "planted", documents(rows), **DOCUMENTS, fit_on=fit_on)
    assert plain["alignf"].keys() == {"one", "two", "three"}
    if fit_on == "all":
        assert planted["alignf"]["told"] > 0.9
        assert error < plain_error - 0.2
    else:
        assert planted["alignf"].pop("told") == 0.0  # it is in the vocabulary of other trials
        assert planted["a"].pop("told") == 0.0
        assert planted == plain
        assert error == plain_error
