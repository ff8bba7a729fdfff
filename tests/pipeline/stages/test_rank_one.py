"""Rank-one families through the pipeline: every number that is stored, against whole matrices made from the columns."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
import tomli_w
from click.testing import CliRunner
from sklearn.svm import SVC

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.stages.kernel_results import NAMED_KERNELS
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Floats, Trial, aligned, rank_one_trial
from tests.helpers.sweeps import pipeline, run_here, start, write_results

FOLDS = 4
CONSTANT = 2
"""The column of the numbers that never varies."""
METHODS: list[Any] = [
    *("unif", "align", {"method": "align", "q": 1.5}, "alignf", "alignf-linear", "best-kernel"),
    *("l1-svm", "l2-krr", "align-krr"),
]
TWO_STAGE = ["unif", "align", "align-q1.5", "alignf", "alignf-linear", "best-kernel"]
PROMISED = {"alignf": 1e-9, "alignf-linear": 1e-9, "l1-svm": 1e-4, "l2-krr": 1e-6, "align-krr": 1e-6}
SAME_BYTES = ("rows.csv", "rows.parquet", "path.csv", "kernels.csv", "bounds.csv", "summary.csv", "summary.md")
SWEEP: dict[str, Any] = {
    "name": "columns",
    "seed": 5,
    "methods": METHODS,
    "protocol": {"folds": FOLDS},
    "fit": {
        "krr": {"from": -16, "to": 0, "step": 4},
        "svm": {"from": 0, "to": 8, "step": 4},
        "l1-svm": {"from": 2, "to": 8, "step": 3},
        "l2-krr": {"from": 0, "to": 12, "step": 4},
        "align-krr": {
            "gamma": {"from": -2, "to": 0, "step": 2},
            "gamma1": {"from": -10, "to": -10},
            "gamma2": {"from": -16, "to": -8, "step": 8},
        },
    },
    "dataset": [
        {
            "name": "numbers",
            "task": "regression",
            "source": "file",
            "path": "numbers.csv",
            "format": "csv",
            "target": "size",
            "drop": ["side"],
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "sides",
            "task": "classification",
            "source": "file",
            "path": "numbers.csv",
            "format": "csv",
            "target": "side",
            "drop": ["size"],
            "kernels": [{"family": "rank-one"}],
        },
        {
            "name": "documents",
            "task": ["regression", "classification"],
            "source": "text",
            "path": "documents.txt",
            "kernels": [{"family": "rank-one", "features": "bigrams"}],
        },
    ],
}
NAMES = ["plain", "year", "same", "far", "count", "noise"]
CELLS = [
    (name, task, method)
    for name, task in [
        ("numbers", "regression"),
        ("sides", "classification"),
        ("documents", "regression"),
        ("documents", "classification"),
    ]
    for method in [*TWO_STAGE, *(["l1-svm"] if task == "classification" else ["l2-krr", "align-krr"])]
]
Run = tuple[Path, Plan, dict[str, PreparedDataset]]


def write_data(folder: Path) -> None:
    rng = np.random.default_rng(1)
    m = 70
    columns = np.column_stack(
        [
            rng.normal(size=m),
            2000.0 + rng.integers(-1, 2, m),
            np.full(m, 7.1),
            1e7 + rng.normal(size=m),
            rng.poisson(0.3, m),
            rng.normal(size=m),
        ]
    )
    moved = columns - columns.mean(axis=0)
    size = moved @ [1.0, 0.6, 0.0, -0.7, 0.4, 0.0] + 0.5 * rng.normal(size=m) + 30.0
    table = pd.DataFrame(columns, columns=NAMES).assign(size=size, side=np.where(size > 30.3, "up", "down"))
    table.to_csv(folder / "numbers.csv", index=False)
    words = np.array(["good", "fine", "dull", "bad", "long", "film", "book", "plot", "end", "cast"])
    lines = []
    for number in range(60):
        label = number % 2
        likely = np.where(np.isin(words, ["good", "fine"] if label else ["dull", "bad"]), 3.0, 1.0)
        chosen = rng.choice(words, size=9, p=likely / likely.sum())
        lines.append(f"{label} {' '.join(chosen)}\n")
    (folder / "documents.txt").write_text("".join(lines))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("columns")
    write_data(folder)
    (folder / "sweep.toml").write_text(tomli_w.dumps(SWEEP))
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> Run:
    config = parse_config(SWEEP, "a test")
    root = folder / "here"
    root.mkdir()
    for name in ("numbers.csv", "documents.txt"):
        (root / name).write_bytes((folder / name).read_bytes())
    plan, samples, finished = run_here(root, config)
    write_results(root, plan, finished)
    return root, plan, {loaded.name: loaded for loaded in samples}


@pytest.fixture(scope="module")
def trials(done: Run) -> dict[tuple[str, str, int], Trial]:
    _, plan, samples = done
    return {
        (dataset.name, task, trial): rank_one_trial(samples[dataset.name], task, trial, FOLDS)
        for dataset in plan.datasets
        for task in dataset.tasks_learned
        for trial in range(FOLDS)
    }


Trials = dict[tuple[str, str, int], Trial]


def cells(trials: Trials, name: str, task: str) -> list[tuple[int, Trial]]:
    return [(trial, trials[name, task, trial]) for trial in range(FOLDS)]


def bound_of(kernel: Floats, labels: Floats) -> float:
    """Theorem 12 with probability 0.95, for a centered kernel and the centered labels' own."""
    n, yc = len(labels), labels - labels.mean()
    if not kernel.any():
        return float("nan")
    ratios = [np.diag(matrix).max() ** 2 / np.mean(matrix**2) for matrix in (kernel, np.outer(yc, yc))]
    return float(18 * max(ratios) * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))))


@pytest.mark.parametrize(
    ("name", "task"),
    [("numbers", "regression"), ("sides", "classification"), ("documents", "regression")],
)
def test_every_stored_statistic_is_that_of_whole_matrices(done: Run, trials: Trials, name: str, task: str) -> None:
    store = RunStore(LocalStorage(done[0]))
    for trial, plain in cells(trials, name, task):
        y, y_test = plain.y[plain.train], plain.y[plain.test]
        expected: dict[str, Any] = {
            "a": plain.a,
            "trace": plain.trace,
            "label_norms": [plain.yc @ plain.yc, ((y_test - y_test.mean()) ** 2).sum()],
            "alignment": plain.alignments(),
            "alignment_test": _own_test_alignments(done[2][name], plain),
            "uncentered": _uncentered(done[2][name], plain),
            "unnormalised": plain.a / len(y) ** 2,
            "theorem12": [bound_of(kernel, y) for kernel in plain.inner],
        }
        for key, values in expected.items():
            stored = store.read(STATISTICS, f"{name}/{task}/{key}", trial, undefined=True)
            np.testing.assert_allclose(stored, values, rtol=1e-6, atol=1e-12, err_msg=f"{key}, trial {trial}")


def _columns(samples: PreparedDataset) -> Floats:
    features = samples.features
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray())


def _own_test_alignments(samples: PreparedDataset, plain: Trial) -> Floats:
    """Of the columns on the test fold alone, where they vary though they may not on the training set."""
    inside = _columns(samples)[plain.test]
    moved = inside - inside.mean(axis=0)
    return np.array(
        [
            aligned(np.outer(v, v), plain.y[plain.test]) if np.ptp(inside[:, k]) else np.nan
            for k, v in enumerate(moved.T)
        ]
    )


def _uncentered(samples: PreparedDataset, plain: Trial) -> Floats:
    y = plain.y[plain.train]
    return np.array(
        [(v @ y) ** 2 / ((v @ v) * (y @ y)) if v.any() else np.nan for v in _columns(samples)[plain.train].T]
    )


def test_no_matrix_of_kernels_is_stored_and_names_stand_once(done: Run) -> None:
    root, plan, _ = done
    for dataset in plan.datasets:
        for task in dataset.tasks_learned:
            group = root / "statistics.zarr" / dataset.name / task
            arrays = {path.name for path in group.iterdir() if (path / "zarr.json").exists()}
            assert arrays == {
                *("a", "trace", "label_norms", "alignment", "alignment_test"),
                *("uncentered", "unnormalised", "theorem12"),
            }
            named = [
                name
                for name in arrays
                if "kernels" in RunStore(LocalStorage(root)).array(STATISTICS, f"{dataset.name}/{task}/{name}").attrs
            ]
            assert named == ["trace"]
            trace = RunStore(LocalStorage(root)).array(STATISTICS, f"{dataset.name}/{task}/trace")
            assert trace.attrs["kernels"] == list(dataset.kernels)
        assert not (root / "gram.zarr" / dataset.name / "gram").exists()
    assert not (root / "combined.zarr").exists()
    assert plan.datasets[0].kernels == tuple(NAMES)
    assert {"good film", "film good"} <= set(plan.datasets[2].kernels)


def test_the_stored_columns_and_offsets_are_the_features(done: Run) -> None:
    root, _, samples = done
    for name, loaded in samples.items():
        parts = [
            RunStore(LocalStorage(root)).read("data.zarr", f"{name}/columns/{key}")
            for key in ("data", "indices", "indptr")
        ]
        offset = RunStore(LocalStorage(root)).read("data.zarr", f"{name}/columns/offset")
        rebuilt = np.tile(offset, (len(loaded.fold), 1))
        data, indices, indptr = parts
        for row in range(len(loaded.fold)):
            places = slice(indptr[row], indptr[row + 1])
            rebuilt[row, indices[places]] += data[places]
        np.testing.assert_allclose(rebuilt, _columns(loaded), rtol=1e-14, atol=1e-14)
        if name == "documents":
            assert not offset.any()
            assert len(parts[0]) < 0.2 * rebuilt.size


def reference_weights(method: str, plain: Trial) -> Floats | None:
    """The weights of a two-stage method where they are unique."""
    own = np.nan_to_num(plain.alignments())
    if method == "unif":
        values = (plain.trace > 0).astype(np.float64)
    elif method.startswith("align") and not method.startswith("alignf"):
        values = own if method == "align" else own**2  # q = 1.5: the power 1 / (q - 1)
    elif method == "best-kernel":
        values = (np.arange(len(own)) == np.argmax(own)).astype(np.float64)
    else:
        alive = np.flatnonzero(plain.trace > 0)
        M, a = plain.products[np.ix_(alive, alive)], plain.a[alive]
        if np.linalg.matrix_rank(M) < len(M):
            return None
        root = np.linalg.cholesky(M)
        values = np.zeros_like(own)
        if method == "alignf":
            values[alive], _ = scipy.optimize.nnls(root.T, np.linalg.solve(root, a))
        else:
            values[alive] = np.linalg.solve(M, a)
    return np.asarray(values / np.abs(values).sum())


@pytest.mark.parametrize("method", TWO_STAGE)
@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("numbers", "regression"),
        ("sides", "classification"),
        ("documents", "regression"),
        ("documents", "classification"),
    ],
)
def test_weights_of_two_stage_methods(done: Run, trials: Trials, name: str, task: str, method: str) -> None:
    for trial, plain in cells(trials, name, task):
        mu = RunStore(LocalStorage(done[0])).read(WEIGHTS, f"{name}/{task}/{method}", trial)
        assert np.abs(mu).sum() == pytest.approx(1.0)
        assert not mu[plain.trace == 0].any()
        expected = reference_weights(method, plain)
        if method == "best-kernel":
            # Columns that are equal but for their order have equal alignments, up to rounding.
            own, chosen = np.nan_to_num(plain.alignments()), np.flatnonzero(mu)
            assert len(chosen) == 1
            assert own[chosen[0]] == pytest.approx(own.max(), rel=1e-12)
        elif expected is not None:
            np.testing.assert_allclose(mu, expected, rtol=1e-6, atol=1e-8)
        elif method == "alignf":
            # Kernels that are equal may share a weight in many ways; that these are best, optimality itself says.
            assert (mu >= 0).all()
            v = mu * (mu @ plain.a) / (mu @ plain.products @ mu)
            slope = (plain.products @ v - plain.a) / plain.a.max()
            assert slope.min() >= -1e-8
            assert np.abs(slope[mu > 0]).max() <= 1e-8
        else:
            # Singular or nearly so: no weights have a larger alignment than these, up to rounding.
            values, vectors = np.linalg.eigh(plain.products)
            kept = vectors[:, values > 1e-10 * values.max()]
            largest = plain.a @ kept @ np.diag(1 / values[values > 1e-10 * values.max()]) @ kept.T @ plain.a
            assert (mu @ plain.a) ** 2 / (mu @ plain.products @ mu) == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize(("name", "task", "method"), [cell for cell in CELLS if cell[2] in TWO_STAGE])
def test_rows_of_two_stage_methods_equal_a_plain_script(
    done: Run, trials: Trials, name: str, task: str, method: str
) -> None:
    root, plan, _ = done
    rows = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert (rows["status"] == "ok").all()
    values = [value for (value,) in plan.config.fit.path(task)]
    path = pd.read_csv(root / "results/path.csv").query(
        f"dataset == '{name}' and task == '{task}' and method == '{method}'"
    )
    for (trial, plain), row in zip(cells(trials, name, task), records(rows), strict=True):
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", trial)
        found = plain.path(mu, values)
        table = path[path["trial"] == trial]
        assert list(table["regularisation"]) == values
        assert table[["gamma", "gamma1", "certificate"]].isna().all(axis=None)
        for column, of in (("train_error", "train"), ("validation_error", "validation"), ("test_error", "test")):
            np.testing.assert_allclose(table[column], [getattr(each, of) for each in found], rtol=1e-5)
        best = int(np.argmin(table["validation_error"]))
        assert row["regularisation"] == values[best]
        assert row["error"] == pytest.approx(found[best].test, rel=1e-5)
        assert row["validation_error"] == pytest.approx(found[best].validation, rel=1e-5)
        check_measures(row, mu, plain)


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(column): value for column, value in row.items()} for row in table.to_dict("records")]


def check_measures(row: dict[str, Any], mu: Floats, plain: Trial) -> None:
    assert row["n_kernels"] == len(mu)
    assert row["n_active"] == np.count_nonzero(mu)
    assert abs(row["certificate"]) <= PROMISED.get(row["method"], 0.0)  # rounding may take one below 0
    for where in ("train", "test"):
        assert row[f"alignment_{where}"] == pytest.approx(plain.alignment(mu, where), rel=1e-6, abs=1e-9, nan_ok=True)


def one_stage_rows(root: Path, name: str, task: str, method: str) -> list[dict[str, Any]]:
    keys = ["dataset", "task", "method", "trial"]
    chosen = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert (chosen["status"] == "ok").all()
    path = pd.read_csv(root / "results/path.csv").query(f"method == '{method}'")
    joined = chosen.merge(path, on=[*keys, "regularisation", "validation_error"], suffixes=("", "_path"))
    joined = joined[joined["test_error"] == joined["error"]].drop_duplicates("trial")
    assert list(joined["trial"]) == list(range(FOLDS))
    return records(joined)


def saddle_value(plain: Trial, budget: float) -> float:
    """`max 2 alpha'1 - Lambda t` where no kernel's form is above t, by a solver that knows nothing of kernels."""
    y, n = plain.y[plain.train], plain.train.sum()
    signed = y[:, None] * plain.inner * y

    def room(x: Floats) -> Floats:
        return np.asarray(x[-1] - np.einsum("i,kij,j->k", x[:-1], signed, x[:-1]))

    def slope(x: Floats) -> Floats:
        return np.column_stack([-2 * (signed @ x[:-1]), np.ones(len(signed))])

    linear = np.append(np.full(n, -2.0), budget)
    minimize: Any = scipy.optimize.minimize  # its types know no list of constraints of two kinds
    solved = minimize(
        lambda x: float(linear @ x),
        np.append(np.full(n, 0.1), 1.0),
        jac=lambda _: linear,
        method="SLSQP",
        bounds=scipy.optimize.Bounds(0.0, np.append(np.ones(n), np.inf)),
        constraints=[
            scipy.optimize.NonlinearConstraint(room, 0.0, np.inf, jac=slope),
            scipy.optimize.LinearConstraint(np.append(y, 0.0), 0.0, 0.0),
        ],
        options={"maxiter": 500, "ftol": 1e-9},
    )
    assert solved.success, solved.message
    return float(-solved.fun)


def test_l1_svm_is_the_machine_of_its_kernel_and_no_other_kernel_is_better(done: Run, trials: Trials) -> None:
    for name in ("sides", "documents"):
        rows = one_stage_rows(done[0], name, "classification", "l1-svm")
        for (trial, plain), row in zip(cells(trials, name, "classification"), rows, strict=True):
            mu = RunStore(LocalStorage(done[0])).read(WEIGHTS, f"{name}/classification/l1-svm", trial)
            check_measures(row, mu, plain)
            budget, y = row["regularisation"], plain.y[plain.train]
            kernel = budget * plain.combined(mu)  # the weights sum to Lambda, and C is 1
            machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(kernel[plain.train], y)
            wrong = machine.predict(kernel) != plain.y
            # A sample that lies on the border may fall on either side of it.
            assert row["error"] == pytest.approx(wrong[plain.test].mean(), abs=1.01 / plain.test.sum())
            assert row["train_error"] == pytest.approx(wrong[plain.train].mean(), abs=1.01 / len(y))
            signed = np.zeros(len(y))
            signed[machine.support_] = machine.dual_coef_[0]
            forms = np.einsum("i,kij,j->k", signed, plain.inner, signed)
            value = 2 * np.abs(signed).sum() - budget * (mu @ forms)  # at the best alpha for mu: above the optimum
            assert value == pytest.approx(saddle_value(plain, budget), rel=1e-3)
            assert row["certificate_path"] == row["certificate"]


def test_l2_krr_has_weights_proportional_to_their_forms(done: Run, trials: Trials) -> None:
    for name in ("numbers", "documents"):
        rows = one_stage_rows(done[0], name, "regression", "l2-krr")
        for (trial, plain), row in zip(cells(trials, name, "regression"), rows, strict=True):
            mu = RunStore(LocalStorage(done[0])).read(WEIGHTS, f"{name}/regression/l2-krr", trial)
            check_measures(row, mu, plain)
            kernel = row["regularisation"] / np.linalg.norm(mu) * plain.combined(mu)  # their norm is Lambda
            errors = plain.fit(kernel, 1.0)
            assert row["error"] == pytest.approx(errors.test, rel=1e-3)
            assert row["train_error"] == pytest.approx(errors.train, rel=1e-3)
            alpha = np.linalg.solve(kernel[plain.train] + np.eye(len(plain.yc)), plain.yc)
            forms = np.einsum("i,kij,j->k", alpha, plain.inner, alpha)
            np.testing.assert_allclose(mu, forms / forms.sum(), rtol=1e-2, atol=1e-4)


def test_align_krr_solves_its_problem(done: Run, trials: Trials) -> None:
    for name in ("numbers", "documents"):
        rows = one_stage_rows(done[0], name, "regression", "align-krr")
        for (trial, plain), row in zip(cells(trials, name, "regression"), rows, strict=True):
            mu = RunStore(LocalStorage(done[0])).read(WEIGHTS, f"{name}/regression/align-krr", trial)
            check_measures(row, mu, plain)
            y = plain.yc / np.linalg.norm(plain.yc)
            reward = row["gamma"] * plain.a / (plain.yc @ plain.yc)
            penalty = row["regularisation"] * plain.products + row["gamma1"] * np.eye(len(mu))
            inner = plain.combined(mu)[plain.train]

            def value(
                log_scale: float,
                mu: Floats = mu,
                y: Floats = y,
                inner: Floats = inner,
                reward: Floats = reward,
                penalty: Floats = penalty,
            ) -> float:
                v = np.exp(log_scale) * mu
                solved = np.linalg.solve(np.exp(log_scale) * inner + np.eye(len(y)), y)
                return float(y @ solved - reward @ v + v @ penalty @ v)

            # Stored weights sum to one; how large they were, the problem itself says.
            scale = float(
                np.exp(
                    scipy.optimize.minimize_scalar(
                        value, bounds=(-10, 25), method="bounded", options={"xatol": 1e-12}
                    ).x
                )
            )
            errors = plain.fit(scale * plain.combined(mu), 1.0)
            assert row["error"] == pytest.approx(errors.test, rel=1e-4)
            assert row["train_error"] == pytest.approx(errors.train, rel=1e-4)
            alpha = np.linalg.solve(scale * inner + np.eye(len(y)), y)
            pull = np.einsum("i,kij,j->k", alpha, plain.inner, alpha) + reward
            slope = (2 * scale * penalty @ mu - pull) / pull.max()
            assert slope.min() >= -1e-4
            assert np.abs(slope[mu > 0]).max() <= 1e-4


def test_the_constant_column_has_weight_zero_in_every_method(done: Run) -> None:
    for name, task, method in CELLS:
        if name in ("numbers", "sides"):
            mu = RunStore(LocalStorage(done[0])).read(WEIGHTS, f"{name}/{task}/{method}")
            assert not mu[:, CONSTANT].any(), method
            assert mu.any(axis=1).all()


def test_kernels_table_holds_what_is_stored(done: Run) -> None:
    root, plan, _ = done
    table = pd.read_csv(root / "results/kernels.csv", keep_default_na=False)
    assert "error" not in table  # no kernel was fitted alone
    assert not (root / "results/correlation.csv").exists()
    for dataset in plan.datasets:
        for task in dataset.tasks_learned:
            rows = table.query(f"dataset == '{dataset.name}' and task == '{task}'")
            assert list(rows["kernel"]) == list(dataset.kernels) * FOLDS
            assert list(rows["trial"]) == [trial for trial in range(FOLDS) for _ in dataset.kernels]
            for column, array in (
                ("alignment_train", "alignment"),
                ("alignment_test", "alignment_test"),
                ("uncentered_alignment_train", "uncentered"),
                ("unnormalised_alignment_train", "unnormalised"),
                ("theorem12_evaluated", "theorem12"),
            ):
                place = f"{dataset.name}/{task}/{array}"
                stored = RunStore(LocalStorage(root)).read(STATISTICS, place, undefined=True).ravel()
                np.testing.assert_allclose(pd.to_numeric(rows[column]), stored, rtol=1e-15)


# The command line


def tables(root: Path) -> dict[str, bytes]:
    return {name: (root / "results" / name).read_bytes() for name in SAME_BYTES}


NOTES = [
    "note: l1-svm on numbers (regression), documents (regression): left out, since it is for classification\n",
    "note: l2-krr on sides (classification), documents (classification): left out, since it is for regression\n",
    "note: align-krr on sides (classification), documents (classification): left out, since it is for regression\n",
]


def test_a_killed_run_with_one_worker_goes_on_to_the_tables_of_two(folder: Path, done: Run) -> None:
    few = ("run", "sweep.toml", "--set", "methods=['alignf', 'l1-svm', 'l2-krr', 'align-krr']")
    killed = start(*few, "--workers", "1", "--out", "killed", cwd=folder)
    ledger = folder / "killed/ledger.jsonl"
    while killed.poll() is None and not (ledger.exists() and ledger.read_text().count("\n") > 10):
        time.sleep(0.02)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert not (folder / "killed/results").exists()
    again = pipeline(*few, "--workers", "1", "--out", "killed", cwd=folder)
    assert again.returncode == 0, again.stderr
    total = 3 + 4 * FOLDS * 2 + 2 * FOLDS  # the statistics, two methods for each task, align-krr for regressions
    assert f" {total} of {total} tasks to do" not in again.stdout

    whole = pipeline(*few, "--workers", "2", "--out", "whole", cwd=folder)
    assert whole.returncode == 0, whole.stderr
    assert f" {total} of {total} tasks to do" in whole.stdout
    assert tables(folder / "killed") == tables(folder / "whole")

    for note in NOTES:
        assert whole.stdout.count(note) == 1
    for name in ("numbers", "sides"):
        said = f"note: dataset {name!r}: 1 of 6 kernels are constant on a training set; their weight there is 0: same"
        assert whole.stdout.count(f"{said} (every trial)\n") == 1
    kernels, traces = (
        done[1].datasets[2].kernels,
        RunStore(LocalStorage(done[0])).read(STATISTICS, "documents/regression/trace"),
    )
    constant = np.flatnonzero((traces == 0).any(axis=0))
    assert len(constant) > NAMED_KERNELS
    first = constant[0]
    where = ", ".join(map(str, np.flatnonzero(traces[:, first] == 0)))
    said = (
        f"dataset 'documents': {len(constant)} of {len(kernels)} kernels are constant on a training set; their weight"
    )
    assert whole.stdout.count(f"{said} there is 0: {kernels[first]} (trial {where})") == 1
    assert f" and {len(constant) - NAMED_KERNELS} more\n" in whole.stdout

    # Numbers agree with those of this process, whose libraries may add up in another order.
    key = ["dataset", "task", "method", "trial"]
    here, there = read_rows(LocalStorage(done[0])), read_rows(LocalStorage(folder / "whole"))
    here = here[here["method"].isin(there["method"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(here[key], there[key])
    shown = pipeline("status", "whole", cwd=folder)
    assert f"fits {len(here)} of {len(here)}." in shown.stdout


def test_plan_says_what_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    shown = CliRunner().invoke(main, ["plan", "sweep.toml"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0, shown.output
    assert shown.output.endswith("".join(NOTES))
    assert "123 tasks: reduce 3, fits 120;" in shown.output


def test_very_many_kernels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(24):
        # Every column has a number somewhere: columns without any are not kept.
        places = np.union1d(rng.choice(np.arange(2, 5001), 40, replace=False), np.arange(2 + number, 5001, 24))
        entries = [f"1:{number % 5}", *(f"{place}:{rng.integers(1, 4)}" for place in places), "5001:1"]
        rows.append(f"{number % 2} {' '.join(entries)}\n")
    (tmp_path / "wide.svm").write_text("".join(rows))
    write_data(tmp_path)
    wide = {"name": "wide", "task": "classification", "source": "file", "path": "wide.svm", "format": "libsvm"}
    config = parse_config(
        {
            "name": "wide",
            "methods": ["unif", "alignf", "alignf-linear"],
            "protocol": {"folds": 3},
            "dataset": [wide | {"kernels": [{"family": "rank-one"}]}, SWEEP["dataset"][1]],
        },
        "a test",
    )
    plan, _, finished = run_here(tmp_path, config)
    table = write_results(tmp_path, plan, finished)
    assert len(plan.datasets[0].kernels) == 5001
    assert lines(plan.notes()) == [
        "note: alignf-linear on wide (classification): left out, since it needs a matrix of 5,001 x 5,001; 5,000 "
        "kernels at most"
    ]
    cells_found = table.groupby("dataset")["method"].unique().map(list).to_dict()
    assert cells_found == {"wide": ["unif", "alignf"], "sides": ["unif", "alignf", "alignf-linear"]}
    assert (table["status"] == "ok").all()
    kernels = pd.read_csv(tmp_path / "results/kernels.csv")
    assert set(kernels["dataset"]) == {"sides"}
    assert len(kernels) == 3 * 6
    # What the table leaves out is in the arrays.
    stored = RunStore(LocalStorage(tmp_path)).read(STATISTICS, "wide/classification/alignment", undefined=True)
    assert stored.shape == (3, 5001)
    assert (table.query("dataset == 'wide'")["n_kernels"] == 5001).all()
