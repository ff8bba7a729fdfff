"""Rank-one families: every stored statistic equals that of whole matrices computed from the columns."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.helpers.plain import Floats, Trial, aligned
from tests.pipeline.stages.rank_one_sweep import FOLDS, NAMES, RankOneRun, Trials, cells


def bound_of(kernel: Floats, labels: Floats) -> float:
    """Return the bound of Theorem 12 with probability 0.95, for a centered kernel and that of the centered labels."""
    n, yc = len(labels), labels - labels.mean()
    if not kernel.any():
        return float("nan")
    ratios = [np.diag(matrix).max() ** 2 / np.mean(matrix**2) for matrix in (kernel, np.outer(yc, yc))]
    return float(18 * max(ratios) * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n))))


@pytest.mark.parametrize(
    ("name", "task"),
    [("numbers", "regression"), ("sides", "classification"), ("documents", "regression")],
)
def test_every_stored_statistic_is_that_of_whole_matrices(
    rank_one_run: RankOneRun, rank_one_trials: Trials, name: str, task: str
) -> None:
    store = RunStore(LocalStorage(rank_one_run[0]))
    for trial, plain in cells(rank_one_trials, name, task):
        y, y_test = plain.y[plain.train], plain.y[plain.test]
        expected: dict[str, Any] = {
            "a": plain.a,
            "trace": plain.trace,
            "label_norms": [np.linalg.norm(np.outer(plain.yc, plain.yc)), ((y_test - y_test.mean()) ** 2).sum()],
            "alignment": plain.alignments(),
            "alignment_test": _own_test_alignments(rank_one_run[2][name], plain),
            "uncentered": _uncentered(rank_one_run[2][name], plain),
            "unnormalised": plain.a / len(y) ** 2,
            "theorem12": [bound_of(kernel, y) for kernel in plain.inner],
        }
        for key, values in expected.items():
            stored = store.read(STATISTICS, f"{name}/{task}/{key}", trial, allow_nan=True)
            np.testing.assert_allclose(stored, values, rtol=1e-6, atol=1e-12, err_msg=f"{key}, trial {trial}")


def _columns(samples: PreparedDataset) -> Floats:
    features = samples.features
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray())


def _own_test_alignments(samples: PreparedDataset, plain: Trial) -> Floats:
    """Return the alignments on the test fold, also of columns that are constant on the training set."""
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


def test_no_matrix_of_kernels_is_stored_and_names_are_stored_once(rank_one_run: RankOneRun) -> None:
    root, plan, _ = rank_one_run
    for dataset in plan.datasets:
        for task in dataset.problems:
            group = root / "statistics.zarr" / dataset.name / task
            arrays = {path.name for path in group.iterdir() if (path / "zarr.json").exists()}
            assert arrays == {
                *("a", "trace", "label_norms", "alignment", "alignment_test"),
                *("uncentered", "unnormalised", "theorem12", "direction"),
                *("alignment_debiased", "alignment_test_debiased"),
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


def test_the_stored_columns_and_offsets_add_up_to_the_features(rank_one_run: RankOneRun) -> None:
    root, _, samples = rank_one_run
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


def test_the_kernels_table_has_the_stored_values(rank_one_run: RankOneRun) -> None:
    root, plan, _ = rank_one_run
    table = pd.read_csv(root / "results/kernels.csv", keep_default_na=False)
    assert "error" not in table  # no kernel was fitted alone
    assert not (root / "results/correlation.csv").exists()
    for dataset in plan.datasets:
        for task in dataset.problems:
            rows = table.query(f"dataset == '{dataset.name}' and task == '{task}'")
            assert list(rows["kernel"]) == list(dataset.kernels) * FOLDS
            assert list(rows["trial"]) == [trial for trial in range(FOLDS) for _ in dataset.kernels]
            for column, array in (
                ("alignment_train", "alignment"),
                ("alignment_test", "alignment_test"),
                ("uncentered_alignment_train", "uncentered"),
                ("debiased_alignment_train", "alignment_debiased"),
                ("debiased_alignment_test", "alignment_test_debiased"),
                ("unnormalised_alignment_train", "unnormalised"),
                ("theorem12_evaluated", "theorem12"),
            ):
                place = f"{dataset.name}/{task}/{array}"
                stored = RunStore(LocalStorage(root)).read(STATISTICS, place, allow_nan=True).ravel()
                np.testing.assert_allclose(pd.to_numeric(rows[column]), stored, rtol=1e-15)
