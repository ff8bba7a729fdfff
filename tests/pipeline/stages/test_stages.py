"""Every stage, compared with computations by scikit-learn and numpy on the same samples."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.matrices import assemble
from kernel_pipeline.stages.tile_sources import StoredTiles
from kernel_pipeline.store.arrays import COMBINED, GRAM, STATISTICS, WEIGHTS, DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import trials
from tests.helpers.sweeps import run_here, small_config, write_results

GAMMAS = {"wave": [2.0**e for e in (-6, -5, -4, 0, 1)], "flowers": [2.0**e for e in range(-3, 2)]}
Run = tuple[Path, Plan, dict[str, PreparedDataset], dict[str, TaskReport]]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("run")
    plan, samples, finished = run_here(root, small_config())
    write_results(root, plan, finished)
    return root, plan, {loaded.name: loaded for loaded in samples}, finished


def grams(samples: PreparedDataset) -> list[Floats]:
    return [rbf_kernel(samples.features, gamma=gamma) for gamma in GAMMAS[samples.name]]


def training(samples: PreparedDataset, trial: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(samples.fold, trials(4)[trial].train)


def test_the_stored_gram_is_the_kernel_of_the_samples_on_and_above_the_diagonal(done: Run) -> None:
    root, _, samples, _ = done
    for name, loaded in samples.items():
        stored = RunStore(LocalStorage(root)).array(GRAM, f"{name}/gram")
        upper = np.triu_indices(len(loaded.features))
        shift = np.array(stored.attrs["shift"], dtype=np.float64)
        for k, gram in enumerate(grams(loaded)):
            whole = np.asarray(stored[k]) + shift[k]
            np.testing.assert_allclose(whole[upper], gram[upper], rtol=1e-12, atol=1e-14)
        assert stored.attrs["kernels"] == [f"gaussian(2^{round(np.log2(gamma))})" for gamma in GAMMAS[name]]


def test_tiles_below_the_diagonal_are_not_written_and_cannot_be_read_as_numbers(done: Run) -> None:
    root, _, _, _ = done
    with pytest.raises(DamagedError, match=r"gram.zarr/wave/gram lacks values"):
        RunStore(LocalStorage(root)).read(GRAM, "wave/gram", (slice(None), slice(40, 50), slice(0, 10)))


def test_statistics_are_those_of_centered_kernels_with_trace_one(done: Run) -> None:
    root, _, samples, _ = done
    store = RunStore(LocalStorage(root))
    for name, task in (("wave", "regression"), ("flowers", "classification"), ("flowers", "regression")):
        loaded = samples[name]
        for trial in range(4):
            train = training(loaded, trial)
            centered = [KernelCenterer().fit_transform(gram[np.ix_(train, train)]) for gram in grams(loaded)]
            traces = np.array([np.trace(kernel) for kernel in centered])
            flat = np.array([kernel.ravel() / trace for kernel, trace in zip(centered, traces, strict=True)])
            y = loaded.targets[task][train]
            np.testing.assert_allclose(store.read(STATISTICS, f"{name}/{task}/trace", trial), traces, rtol=1e-9)
            np.testing.assert_allclose(store.read(STATISTICS, f"{name}/{task}/M", trial), flat @ flat.T, rtol=1e-9)
            np.testing.assert_allclose(
                store.read(STATISTICS, f"{name}/{task}/a", trial), flat @ np.outer(y, y).ravel(), rtol=1e-9
            )


def plain_path(
    task: str, kernel: Floats, samples: PreparedDataset, trial: int, values: list[float]
) -> tuple[list[float], list[float]]:
    """Return the validation and test errors of a path, computed with scikit-learn."""
    train = training(samples, trial)
    held_out = [samples.fold == (trial + 1) % 4, samples.fold == trial]
    y = samples.targets[task]
    centerer = KernelCenterer().fit(kernel[np.ix_(train, train)])
    errors: tuple[list[float], list[float]] = ([], [])
    for value in values:
        for part, found in zip(held_out, errors, strict=True):
            inner = centerer.transform(kernel[np.ix_(train, train)].copy())
            outer = centerer.transform(kernel[np.ix_(part, train)].copy())
            if task == "regression":
                ridge = KernelRidge(alpha=value, kernel="precomputed").fit(inner, y[train] - y[train].mean())
                found.append(float(np.sqrt(np.mean((ridge.predict(outer) + y[train].mean() - y[part]) ** 2))))
            else:
                machine = SVC(C=value, kernel="precomputed").fit(inner, y[train])
                found.append(float(np.mean(machine.predict(outer) != y[part])))
    return errors


@pytest.mark.parametrize("method", ["unif", "align", "alignf", "best-kernel"])
@pytest.mark.parametrize(("name", "task"), [("wave", "regression"), ("flowers", "classification")])
def test_rows_equal_a_plain_script(done: Run, name: str, task: str, method: str) -> None:
    root, plan, samples, _ = done
    loaded = samples[name]
    rows = read_rows(LocalStorage(root)).query(f"dataset == '{name}' and task == '{task}' and method == '{method}'")
    assert list(rows["trial"]) == [0, 1, 2, 3]
    for trial, row in enumerate(rows.to_dict("records")):
        train = training(loaded, trial)
        mu = RunStore(LocalStorage(root)).read(WEIGHTS, f"{name}/{task}/{method}", trial)
        assert mu.sum() == pytest.approx(1.0)
        traces = [np.trace(KernelCenterer().fit_transform(gram[np.ix_(train, train)])) for gram in grams(loaded)]
        kernel = sum(m / t * gram for m, t, gram in zip(mu, traces, grams(loaded), strict=True))
        tiles = StoredTiles(RunStore(LocalStorage(root)), COMBINED, f"{name}/{task}/{method}", trial)
        stored = assemble(tiles, len(loaded.fold), plan.config.storage.tile)
        shift = sum(m / t for m, t in zip(mu, traces, strict=True))
        np.testing.assert_allclose(stored + shift, kernel, rtol=1e-9)
        values = [value for (value,) in plan.config.fit.path(task)]
        validation, test = plain_path(task, kernel, loaded, trial, values)
        best = int(np.argmin(validation))
        assert row["regularisation"] == values[best]
        assert row["error"] == pytest.approx(test[best], rel=1e-6)
        assert row["validation_error"] == pytest.approx(validation[best], rel=1e-6)
        assert row["certificate"] <= 1e-9
        assert row["n_active"] == (mu > 0).sum()
        for where, part in (("train", train), ("test", loaded.fold == trial)):
            y = loaded.targets[task][part] - loaded.targets[task][part].mean()
            centered = KernelCenterer().fit_transform(kernel[np.ix_(part, part)])
            expected = (y @ centered @ y) / (np.linalg.norm(centered) * (y @ y))
            assert row[f"alignment_{where}"] == pytest.approx(expected, rel=1e-8)


def test_tables_have_the_documented_columns_in_a_fixed_order(done: Run) -> None:
    root, plan, _, finished = done
    rows = pd.read_csv(root / "results/rows.csv")
    always = [column.name for column in TABLES["rows"].columns if not column.name.startswith("null_")]
    assert list(rows.columns) == always  # levels of permuted labels need [protocol] permutations
    assert len(rows) == 4 * 4 + 2 * 4 * 4
    assert (rows["status"] == "ok").all()
    assert set(rows["metric"]) == {"rmse", "misclassification"}
    pd.testing.assert_frame_equal(pd.read_parquet(root / "results/rows.parquet"), rows, check_dtype=False)
    path = pd.read_csv(root / "results/path.csv")
    assert len(path) == 4 * 4 * 6 + 4 * 4 * (6 + 4)
    kernels = pd.read_csv(root / "results/kernels.csv")
    assert len(kernels) == (1 + 2) * 4 * 5
    assert set(pd.read_csv(root / "results/timings.csv")["task"]) == set(finished)
    before = (root / "results/rows.csv").read_bytes()
    write_results(root, plan, dict(reversed(finished.items())))
    assert (root / "results/rows.csv").read_bytes() == before


def test_the_kernels_table_has_the_alignment_of_each_kernel(done: Run) -> None:
    root, _, samples, _ = done
    wave = samples["wave"]
    table = pd.read_csv(root / "results/kernels.csv").query("dataset == 'wave' and trial == 2")
    train = training(wave, 2)
    y = wave.targets["regression"][train]
    for gram, (_, row) in zip(grams(wave), table.iterrows(), strict=True):
        inner = gram[np.ix_(train, train)]
        centered, yc = KernelCenterer().fit_transform(inner), y - y.mean()
        assert row["alignment_train"] == pytest.approx(yc @ centered @ yc / (np.linalg.norm(centered) * (yc @ yc)))
        assert row["uncentered_alignment_train"] == pytest.approx(y @ inner @ y / (np.linalg.norm(inner) * (y @ y)))


@pytest.mark.parametrize(
    ("name", "task", "limit", "reason"),
    [
        ("wave", "regression", None, "the kernel has an eigenvalue below"),
        ("flowers", "classification", 1, "did not converge in 1 iterations"),
    ],
)
def test_a_fit_that_fails_has_a_result_with_the_reason(
    done: Run, monkeypatch: pytest.MonkeyPatch, name: str, task: str, limit: int | None, reason: str
) -> None:
    root, plan, _, _ = done
    (fit,) = [
        fit
        for dataset in plan.datasets
        for fit in dataset.of(FitTask)
        if (fit.dataset, fit.problem, fit.method_id, fit.trial) == (name, task, "unif", 0)
    ]
    if limit is None:
        read = StoredTiles.read
        monkeypatch.setattr(StoredTiles, "read", lambda tiles, tile: -1e6 * read(tiles, tile))
    else:
        monkeypatch.setattr("kernel_pipeline.tasks.learners.svm.MAX_ITERATIONS", limit)
    result = fit.run(RunStore(LocalStorage(root))).result.to_json()
    assert result["status"].startswith("failed: ")
    assert reason in result["status"]
    assert "path" not in result
