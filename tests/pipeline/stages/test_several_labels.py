"""Several classes and several outputs against plain scripts: statistics, weights, errors, and what is left out."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernel_pipeline as kp
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Trial, aligned, as_block, gaussian_trial, rank_one_trial
from tests.helpers.sweeps import run_here, write_results
from tests.pipeline.stages.test_rank_one_two_stage import reference_weights

FOLDS = 4
TWO_STAGE = ["unif", "align", "align-q1.5", "alignf", "alignf-linear", "best-kernel"]
EXPONENTS = {
    "digits": (-9, -6),
    "wine": (-6, -2),
    "linnerud": (-4, -1),
    "two": (-5, -1),
    "both": (-5, -2),
    "sides": (-6, -2),
}
RANK_ONE = {"family": "rank-one"}


def gaussian(name: str) -> list[dict[str, Any]]:
    return [{"family": "gaussian", "log2_gamma": list(EXPONENTS[name])}]


SKLEARN = {"source": "sklearn", "scale": "standard"}
FILE = {"source": "file", "format": "csv", "path": "outputs.csv", "scale": "standard"}
OUTPUTS = {**FILE, "task": "regression", "target": ["y1", "y2"], "drop": ["kind"]}
SWEEP: dict[str, Any] = {
    "name": "several",
    "seed": 2,
    "baselines": False,
    "methods": [
        *("unif", "align", {"method": "align", "q": 1.5}, "alignf", "alignf-linear", "best-kernel"),
        *("l1-svm", "l2-krr", "align-krr", "each-kernel"),
    ],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -16, "to": 0, "step": 4}, "svm": {"from": 0, "to": 12, "step": 4}},
    "storage": {"tile": 64},
    "dataset": [
        {"name": "digits", "task": "classification", "id": "digits", "rows": 160, **SKLEARN},
        {"name": "wine", "task": "classification", "id": "wine", "rows": 110, **SKLEARN},
        {"name": "linnerud", "task": "regression", "id": "linnerud", **SKLEARN},
        {"name": "two", **OUTPUTS},
        {"name": "both", **FILE, "task": ["regression", "classification"], "target": "kind", "drop": ["y1", "y2"]},
    ],
}
for values in SWEEP["dataset"]:
    values["kernels"] = gaussian(values["name"])
SWEEP["dataset"] += [
    {"name": "wine-columns", "task": "classification", "id": "wine", **SKLEARN, "kernels": [RANK_ONE]},
    {"name": "two-columns", **OUTPUTS, "kernels": [RANK_ONE]},
]
TARGETS = [
    *(("digits", "classification"), ("wine", "classification"), ("linnerud", "regression"), ("two", "regression")),
    *(("both", "regression"), ("both", "classification")),
    *(("wine-columns", "classification"), ("two-columns", "regression")),
]
SEVERAL = [target for target in TARGETS if target != ("both", "regression")]
Trials = dict[tuple[str, str, int], Trial]
Run = tuple[Path, Plan, dict[str, PreparedDataset]]


def write_data(folder: Path) -> None:
    """Write two outputs of different sizes, and classes whose numbers are not in order."""
    rng = np.random.default_rng(7)
    m = 90
    features = rng.normal(size=(m, 5))
    table = pd.DataFrame(features, columns=list("abcde")).assign(
        y1=50 * np.sin(features[:, 0]) + features[:, 1] + rng.normal(size=m) + 300,
        y2=features[:, 2] - 0.5 * features[:, 0] + 0.3 * rng.normal(size=m) - 1,
        kind=np.array([10, 2, -3, 7])[np.digitize(features[:, 0] + 0.3 * rng.normal(size=m), [-0.8, 0, 0.8])],
    )
    table.to_csv(folder / "outputs.csv", index=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("run")
    write_data(root)
    plan, samples, finished = run_here(root, parse_config(SWEEP, "a test"))
    write_results(root, plan, finished)
    return root, plan, {loaded.name: loaded for loaded in samples}


@pytest.fixture(scope="module")
def trials(done: Run) -> Trials:
    return {
        (name, task, trial): trial_of(done[2][name], task, trial) for name, task in TARGETS for trial in range(FOLDS)
    }


def trial_of(samples: PreparedDataset, task: str, trial: int) -> Trial:
    if samples.name.endswith("-columns"):
        return rank_one_trial(samples, task, trial, FOLDS)
    lo, hi = EXPONENTS[samples.name]
    return gaussian_trial(samples, [2.0**exponent for exponent in range(lo, hi + 1)], task, trial, FOLDS)


def test_the_block_has_a_column_per_class_or_output(done: Run) -> None:
    widths = {name: {task: y.shape[1:] for task, y in loaded.targets.items()} for name, loaded in done[2].items()}
    assert widths["digits"] == {"classification": (10,)}
    assert widths["wine"] == widths["wine-columns"] == {"classification": (3,)}
    assert widths["linnerud"] == {"regression": (3,)}
    assert widths["two"] == widths["two-columns"] == {"regression": (2,)}
    assert widths["both"] == {"regression": (), "classification": (4,)}


@pytest.mark.parametrize(("name", "task"), TARGETS)
def test_statistics_are_those_of_the_kernel_of_the_centered_labels(
    done: Run, trials: Trials, name: str, task: str
) -> None:
    store = RunStore(LocalStorage(done[0]))
    for trial in range(FOLDS):
        plain = trials[name, task, trial]
        y, y_test = (as_block(plain.y[part]) for part in (plain.train, plain.test))
        blocks = [block - block.mean(axis=0) for block in (y, y_test)]
        expected: dict[str, Any] = {
            "a": plain.a,
            "trace": plain.trace,
            "label_norms": [np.linalg.norm(block @ block.T) for block in blocks],
            "alignment": plain.alignments(),
            "alignment_test": [aligned(kernel, y_test) for kernel in plain.test_kernels],
            "uncentered": plain.uncentered_alignments(),
            "unnormalised": plain.a / len(y) ** 2,
        }
        if not name.endswith("-columns"):
            expected["M"] = plain.products
        for key, values in expected.items():
            stored = store.read(STATISTICS, f"{name}/{task}/{key}", trial, allow_nan=True)
            np.testing.assert_allclose(stored, values, rtol=1e-9, atol=1e-13, err_msg=f"{key}, trial {trial}")
        bound = store.read(STATISTICS, f"{name}/{task}/theorem12", trial, allow_nan=True)
        assert np.isnan(bound).all() == (y.shape[1] > 1)


@pytest.mark.parametrize("method", TWO_STAGE)
@pytest.mark.parametrize(("name", "task"), TARGETS)
def test_weights_and_errors_equal_a_plain_script(done: Run, trials: Trials, name: str, task: str, method: str) -> None:
    root, plan, _ = done
    rows = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert list(rows["status"]) == ["ok"] * FOLDS
    values = [value for (value,) in plan.config.fit.path(task)]
    for trial, row in enumerate(rows.to_dict("records")):
        plain = trials[name, task, trial]
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", int(trial))
        weights = reference_weights(method, plain)
        assert weights is not None
        np.testing.assert_allclose(mu, weights, rtol=1e-6, atol=1e-8)
        found = plain.path(mu, values)
        best = int(np.argmin([errors.validation for errors in found]))
        assert row["regularisation"] == values[best]
        assert row["error"] == pytest.approx(found[best].test, rel=1e-7)
        assert row["validation_error"] == pytest.approx(found[best].validation, rel=1e-7)
        for where in ("train", "test"):
            assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-8)


def test_the_errors_differ_between_methods_and_trials(done: Run) -> None:
    rows = read_rows(LocalStorage(done[0]))
    for name, task in SEVERAL:
        errors = rows.query(f"dataset == '{name}' and task == '{task}'")["error"]
        assert errors.nunique() > 3, name
        assert task == "regression" or 0 < errors.mean() < 0.5


@pytest.mark.parametrize("name", ["digits", "wine", "linnerud", "two"])
def test_single_kernels_equal_a_plain_script(done: Run, trials: Trials, name: str) -> None:
    root, plan, samples = done
    (task,) = samples[name].targets
    table = pd.read_csv(root / "results/kernels.csv").query(f"dataset == '{name}'")
    values = [value for (value,) in plan.config.fit.path(task)]
    for trial in range(FOLDS):
        plain = trials[name, task, trial]
        rows = table[table["trial"] == trial]
        for weights, (_, row) in zip(np.eye(len(rows)), rows.iterrows(), strict=True):
            found = plain.path(weights, values)
            best = int(np.argmin([errors.validation for errors in found]))
            assert row["error"] == pytest.approx(found[best].test, rel=1e-7)


def test_every_output_has_its_own_error(done: Run, trials: Trials) -> None:
    root, _, _ = done
    table = pd.read_csv(root / "results/outputs.csv")
    assert list(table.columns) == ["dataset", "task", "method", "repeat", "trial", "output", "error"]
    rows = pd.read_csv(root / "results/rows.csv").set_index(["dataset", "task", "method", "trial"])
    names = {"linnerud": ["Weight", "Waist", "Pulse"], "two": ["y1", "y2"], "two-columns": ["y1", "y2"]}
    assert list(dict.fromkeys(table["dataset"])) == list(names)
    assert set(table["method"]) == set(TWO_STAGE)
    groups = table.groupby(["dataset", "task", "method", "trial"], sort=False)
    assert len(groups) == len(names) * len(TWO_STAGE) * FOLDS
    for key, found in groups:
        name, task, method, trial = map(str, key)
        assert list(found["output"]) == names[name]
        row, plain = rows.xs((name, task, method, int(trial))).to_dict(), trials[name, task, int(trial)]
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", int(trial))
        wrong = plain.residuals(plain.combined(mu), float(row["regularisation"]))[plain.test]
        np.testing.assert_allclose(found["error"], np.sqrt(np.mean(wrong**2, axis=0)), rtol=1e-7)
        assert row["error"] == pytest.approx(np.sqrt(np.mean(found["error"] ** 2)), rel=1e-12)


def test_one_stage_methods_are_left_out_with_a_note(done: Run) -> None:
    root, plan, _ = done
    noted = lines(plan.notes())
    several = "digits (classification), wine (classification), both (classification), wine-columns (classification)"
    outputs = "linnerud (regression), two (regression), two-columns (regression)"
    assert f"note: l1-svm on {several}: left out, since it supports only two classes" in noted
    for method in ("l2-krr", "align-krr"):
        assert f"note: {method} on {outputs}: left out, since it supports only one output" in noted
    rows = pd.read_csv(root / "results/rows.csv")
    assert set(rows[rows["method"].isin(["l1-svm", "l2-krr", "align-krr"])]["dataset"]) == {"both"}
    assert "it supports only two classes" in (root / "results/notes.csv").read_text()


def test_theorems_are_evaluated_for_one_column_of_labels_only(done: Run) -> None:
    bounds = pd.read_csv(done[0] / "results/bounds.csv")
    assert set(bounds["dataset"]) == {"both"}
    assert set(bounds["task"]) == {"regression"}


def test_classes_and_outputs_are_returned_by_open_run(done: Run) -> None:
    run = kp.open_run(done[0])
    assert run.classes("digits") == tuple((str(digit),) for digit in range(10))
    assert run.classes("wine") == (("class_0",), ("class_1",), ("class_2",))
    assert run.classes("both") == (("-3",), ("2",), ("7",), ("10",))
    assert run.outputs("linnerud") == ("Weight", "Waist", "Pulse")
    assert run.outputs("two") == ("y1", "y2")
    assert run.classes("two") == ()
    assert run.outputs("digits") == ()
    with pytest.raises(kp.PipelineError, match="no dataset 'digit'"):
        run.classes("digit")


@pytest.fixture(scope="module")
def balanced(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("balanced")
    write_data(root)
    chosen = [values for values in SWEEP["dataset"] if values["name"] in ("wine", "both", "wine-columns")]
    chosen.append({**chosen[0], "name": "sides", "positive": ["class_2"]})
    changes = {"methods": ["unif", "each-kernel"], "fit": SWEEP["fit"] | {"class_weight": "balanced"}}
    plan, samples, finished = run_here(root, parse_config(SWEEP | changes | {"dataset": chosen}, "a test"))
    write_results(root, plan, finished)
    return root, plan, {loaded.name: loaded for loaded in samples}


@pytest.mark.parametrize("name", ["wine", "both", "wine-columns", "sides"])
def test_balanced_class_weights_are_those_of_scikit_learn(balanced: Run, name: str) -> None:
    root, plan, samples = balanced
    path, kernels = (pd.read_csv(root / f"results/{table}.csv") for table in ("path", "kernels"))
    values = [value for (value,) in plan.config.fit.path("classification")]
    changed = False
    for trial in range(FOLDS):
        equal = trial_of(samples[name], "classification", trial)
        plain = replace(equal, class_weight="balanced")
        where = f"dataset == '{name}' and task == 'classification' and trial == {trial}"
        unif = np.full(len(plain.trace), 1 / len(plain.trace))
        found, rows = plain.path(unif, values), path.query(where)
        # At the smallest C, all variables are at their bounds, so intercepts are not unique: those of libsvm depend on
        # rounding, and those of columns are the centers of their intervals.
        unique = slice(1, None) if name == "wine-columns" else slice(None)
        for part in ("train", "test"):
            expected = [getattr(errors, part) for errors in found]
            np.testing.assert_allclose(rows[f"{part}_error"][unique], expected[unique], rtol=1e-7)
        changed |= found != equal.path(unif, values)
        if name != "wine-columns":  # rank-one kernels are not fitted alone
            for weights, error in zip(np.eye(len(unif)), kernels.query(where)["error"], strict=True):
                alone = plain.path(weights, values)
                best = int(np.argmin([errors.validation for errors in alone]))
                assert error == pytest.approx(alone[best].test, rel=1e-7)
    assert changed


def test_class_weights_do_not_change_a_regression(balanced: Run, done: Run) -> None:
    tables = [pd.read_csv(root / "results/path.csv") for root in (balanced[0], done[0])]
    where = "dataset == 'both' and task == 'regression' and method == 'unif'"
    found, expected = (table.query(where).reset_index(drop=True) for table in tables)
    pd.testing.assert_frame_equal(found, expected)
