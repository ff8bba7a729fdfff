"""Sweeps with precomputed kernels, against the same sweeps with kernels that are computed."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tomli_w
from click.testing import CliRunner
from sklearn.metrics.pairwise import rbf_kernel

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.run.maintenance import clean_run
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.text import counted
from tests.helpers.build import put
from tests.helpers.sweeps import forget
from tests.pipeline.data.kernel_matrices import save

SOURCE_ROWS = 47
METHODS = ["unif", "align", "alignf", "l2-krr", "l1-svm", "best-kernel", "each-kernel"]
GAMMAS = (2.0**-4, 2.0**-3, 2.0**-2)
COMPUTED = [{"family": "gaussian", "log2_gamma": [-4, -2]}]
NARROW = {"family": "gaussian", "log2_gamma": [-2, -2]}
# Ways to store the three Gaussians, and the files with the indices of their kernels; an integer means one matrix.
WAYS: dict[str, tuple[list[dict[str, Any]], dict[str, Sequence[int] | int]]] = {
    "npy": ([{"family": "precomputed", "path": "string.npy"}, NARROW], {"string.npy": (0, 1)}),
    "npz": (
        [
            {"family": "precomputed", "path": "first.npz", "name": "string"},
            {"family": "precomputed", "path": "other.npz"},
            NARROW,
        ],
        {"first.npz": 0, "other.npz": (1,)},
    ),
    "zarr": ([{"family": "precomputed", "path": "string.zarr", "name": "s"}, NARROW], {"string.zarr": (0, 1)}),
}
NAMES = {
    "npy": ["string(0)", "string(1)", "gaussian(2^-2)"],
    "npz": ["string", "other", "gaussian(2^-2)"],
    "zarr": ["s(0)", "s(1)", "gaussian(2^-2)"],
}


def sweep_values(kernels: list[dict[str, Any]], **dataset: Any) -> dict[str, Any]:
    """Return a sweep over 40 of 47 rows, of which two have a missing value."""
    return {
        "name": "files",
        "baselines": False,
        "methods": METHODS,
        "protocol": {"folds": 3},
        "fit": {"krr": {"from": -20, "to": 0, "step": 4}, "svm": {"from": 0, "to": 12, "step": 4}},
        "storage": {"tile": 16, "keep_combined": True},
        "dataset": [
            {
                "name": "things",
                "task": ["regression", "classification"],
                "source": "file",
                "path": "things.csv",
                "format": "csv",
                "target": "y",
                "missing": "drop",
                "rows": 40,
                "kernels": kernels,
                **dataset,
            }
        ],
    }


def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.normal(size=(SOURCE_ROWS, 4)), columns=list("abcd"))
    frame["y"] = (frame["a"] * frame["b"] + random.normal(scale=0.3, size=SOURCE_ROWS) > 0).astype(int)
    frame.loc[[3, 20], "c"] = np.nan
    return frame


def matrices() -> Floats:
    """Return the Gaussians of all rows of the source, with numbers for the rows that are left out."""
    features = table().drop(columns="y").fillna(0.0).to_numpy()
    kernels = np.stack([rbf_kernel(features, gamma=gamma) for gamma in GAMMAS])
    return np.asarray(kernels + kernels.transpose(0, 2, 1)) / 2  # those of scikit-learn are symmetric up to rounding


def numbers(frame: pd.DataFrame) -> Floats:
    return frame.select_dtypes("number").to_numpy(np.float64, na_value=np.nan)


def prepare(folder: Path, way: str) -> list[dict[str, Any]]:
    """Write the table, and the kernels in the given way, into a folder."""
    put(folder, table().to_csv(index=False))
    kernels, files = WAYS[way]
    for name, places in files.items():
        save(folder / name, matrices()[places if isinstance(places, int) else list(places)])
    return kernels


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> kp.RunResults:
    folder = tmp_path_factory.mktemp("computed")
    put(folder, table().to_csv(index=False))
    return kp.run(sweep_values(COMPUTED), cluster="threads", out=folder / "run", data_dir=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a finished sweep whose kernels are in an npy file."""
    folder = tmp_path_factory.mktemp("npy")
    kp.run(sweep_values(prepare(folder, "npy")), cluster="threads", out=folder / "run", data_dir=folder)
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_a_sweep_with_precomputed_kernels_equals_the_same_sweep_with_computed_ones(
    way: str, computed: kp.RunResults, tmp_path: Path
) -> None:
    kernels = prepare(tmp_path, way)
    run = kp.run(sweep_values(kernels), cluster="threads", out=tmp_path / "run", data_dir=tmp_path)
    assert (run.rows["status"] == "ok").all()
    np.testing.assert_allclose(numbers(run.rows), numbers(computed.rows), rtol=1e-9, atol=1e-9)
    for task in ("regression", "classification"):
        for method in ("unif", "align", "alignf", "best-kernel", {"regression": "l2-krr"}.get(task, "l1-svm")):
            found, expected = (each.weights("things", method, task) for each in (run, computed))
            assert list(found["kernel"]) == NAMES[way]
            np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-9, atol=1e-9)
        here, there = (RunStore(LocalStorage(Path(each.directory))) for each in (run, computed))
        for name in ("M", "a", "trace", "alignment", "uncentered", "diagonal"):
            key = f"things/{task}/{name}"
            np.testing.assert_allclose(here.read(STATISTICS, key), there.read(STATISTICS, key), rtol=1e-9, atol=1e-12)
    found, expected = (pd.read_csv(Path(each.directory) / "results/kernels.csv") for each in (run, computed))
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-9, atol=1e-9)


def test_gram_returns_the_numbers_of_the_file_in_the_order_of_the_source(folder: Path, tmp_path: Path) -> None:
    run = kp.open_run(folder / "run")
    rows = run.source_rows("things")
    assert len(rows) == 40
    assert {3, 20}.isdisjoint(rows)
    for number in (0, 1):
        expected = matrices()[number][np.ix_(rows, rows)]
        np.testing.assert_array_equal(run.gram("things", f"string({number})"), expected)
    copy = shutil.copytree(folder / "run", tmp_path / "run")
    shutil.rmtree(copy / "gram.zarr/things/gram/c")  # now from the stored copy of the kernels
    np.testing.assert_array_equal(kp.open_run(copy, data_dir=tmp_path).gram("things", "string(1)"), expected)
    clean_run(LocalStorage(copy))  # now from the source
    assert not (copy / "data.zarr/things/precomputed/c").exists()
    np.testing.assert_array_equal(kp.open_run(copy, data_dir=folder).gram("things", "string(1)"), expected)
    with pytest.raises(kp.PipelineError, match="no file"):
        kp.open_run(copy, data_dir=tmp_path).gram("things", "string(1)")


def test_the_plan_projects_the_stored_bytes(folder: Path) -> None:
    plan = kp.plan(sweep_values(WAYS["npy"][0]), data_dir=folder)
    stored = [path for path in (folder / "run").rglob("c/**/*") if path.is_file()]
    assert plan.disk_bytes == sum(path.stat().st_size for path in stored)
    copies = [path for path in stored if "data.zarr/things/precomputed/c/" in path.as_posix()]
    assert len(copies) == 2 * 6
    assert sum(path.stat().st_size for path in copies) == 2 * 6 * (8 * 16 * 16 + 4)
    without = kp.plan(sweep_values(COMPUTED), data_dir=folder).datasets[0].memory
    tile = 8 * 16 * 16
    assert plan.datasets[0].memory == without | {"tiles": without["tiles"] + 2 * 2 * tile}


def test_a_resumed_run_needs_neither_the_table_nor_the_kernels(folder: Path, tmp_path: Path) -> None:
    root = shutil.copytree(folder / "run", tmp_path / "run")
    rows = (root / "results/rows.csv").read_bytes()
    forget(root, "tiles/things/0", "fits/things/regression/alignf/1")
    shutil.rmtree(root / "gram.zarr/things/gram/c")
    done = CliRunner().invoke(main, ["resume", str(root), "--cluster", "threads", "--data-dir", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert (root / "results/rows.csv").read_bytes() == rows
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0


def test_a_damaged_copy_of_a_kernel_is_found_and_read_again_from_its_file(folder: Path, tmp_path: Path) -> None:
    root = shutil.copytree(folder / "run", tmp_path / "run")
    chunk = root / "data.zarr/things/precomputed/c/1/0/2"
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    found = CliRunner().invoke(main, ["verify", str(root)])
    assert found.exit_code == 4
    assert "precomputed/c/1/0/2 is damaged" in found.output
    repair = ["verify", str(root), "--repair", "--cluster", "threads"]
    assert CliRunner().invoke(main, [*repair, "--data-dir", str(tmp_path)]).exit_code == 2
    assert CliRunner().invoke(main, [*repair, "--data-dir", str(folder)]).exit_code == 0
    assert chunk.read_bytes() == content


def test_changed_numbers_in_the_file_count_as_changed_data(folder: Path, tmp_path: Path) -> None:
    root = shutil.copytree(folder / "run", tmp_path / "run")
    put(tmp_path, table().to_csv(index=False))
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps(sweep_values(WAYS["npy"][0])))
    changed = matrices()[:2]
    changed[0] *= 2.0
    save(tmp_path / "string.npy", changed)
    command = ["run", str(tmp_path / "sweep.toml"), "--cluster", "threads", "--out", str(root)]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 4
    assert "the data of 'things' have changed" in refused.output
    resumed = CliRunner().invoke(main, ["resume", str(root), "--cluster", "threads", "--data-dir", str(tmp_path)])
    assert resumed.exit_code == 0
    assert "string.npy" in resumed.output
    assert CliRunner().invoke(main, [*command, "--accept-changes"]).exit_code == 0
    run, before = kp.open_run(root), kp.open_run(folder / "run")
    np.testing.assert_array_equal(run.gram("things", "string(0)"), 2 * before.gram("things", "string(0)"))
    # Kernels are scaled to trace one.
    np.testing.assert_allclose(run.rows["error"], before.rows["error"], rtol=1e-9)


def test_a_dataset_may_have_only_kernels_and_a_target(tmp_path: Path) -> None:
    kernels = prepare(tmp_path, "zarr")[:1]
    reference = kp.run(
        sweep_values(kernels, rows=None), cluster="threads", out=tmp_path / "with", data_dir=tmp_path
    )  # its features are not used, so rows with gaps are not left out
    assert len(reference.source_rows("things")) == SOURCE_ROWS
    put(tmp_path, table()[["y"]].to_csv(index=False))
    run = kp.run(sweep_values(kernels, rows=None), cluster="threads", out=tmp_path / "run", data_dir=tmp_path)
    assert run.features("things") == ()
    assert (run.rows["status"] == "ok").all()
    pd.testing.assert_frame_equal(run.rows, reference.rows)
    done = CliRunner().invoke(main, ["resume", str(tmp_path / "run"), "--cluster", "threads"])
    assert done.exit_code == 0, done.output
    assert CliRunner().invoke(main, ["verify", str(tmp_path / "run")]).exit_code == 0


def test_an_indefinite_kernel_is_clipped_on_request_and_the_notes_state_how_much(tmp_path: Path) -> None:
    put(tmp_path, table().to_csv(index=False))
    kernel = matrices()[0] - 0.4 * np.eye(SOURCE_ROWS)
    save(tmp_path / "string.npy", kernel)
    family = {"family": "precomputed", "path": "string.npy", "psd": "clip"}
    run = kp.run(sweep_values([family, NARROW]), cluster="threads", out=tmp_path / "run", data_dir=tmp_path)
    rows = run.source_rows("things")
    values, vectors = np.linalg.eigh(kernel[np.ix_(rows, rows)])
    found = run.gram("things", "string")
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, (vectors * values.clip(0)) @ vectors.T, atol=1e-12)
    (note,) = [
        note for note in pd.read_csv(tmp_path / "run/results/notes.csv")["note"] if note.startswith("kernel string")
    ]
    negative = values[values < 0]
    for words in (
        f"set {counted(len(negative), 'negative eigenvalue')} to 0",
        f"the sum of their absolute values was {-negative.sum() / np.abs(values).sum():.3g} times that of all",
        f"the smallest was {values[0]:.3g}",
    ):
        assert words in note


def test_the_stored_kernel_is_exactly_symmetric_despite_rounding_in_the_file(tmp_path: Path) -> None:
    put(tmp_path, table().to_csv(index=False))
    kernel = matrices()[0] * (1 + 1e-12 * np.random.default_rng(0).uniform(-1, 1, (SOURCE_ROWS, SOURCE_ROWS)))
    save(tmp_path / "string.npy", kernel)
    values = sweep_values([{"family": "precomputed", "path": "string.npy"}]) | {"methods": ["unif"]}
    found = kp.run(values, cluster="threads", out=tmp_path / "run", data_dir=tmp_path).gram("things", "string")
    np.testing.assert_array_equal(found, found.T)
