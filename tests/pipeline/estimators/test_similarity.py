"""Similarities are the same for any tile size, from files and on workers, and the command writes them."""

import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zarr
from click.testing import CliRunner, Result
from distributed import Client, LocalCluster

import kernel_pipeline as kp
from kernel_pipeline.cli.main import main
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.build import listing


def views(n: int = 300, count: int = 4) -> dict[str, Floats]:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 6)) + 3.0
    return {f"v{place}": x @ rng.normal(size=(6, 5)) + place * rng.normal(size=(n, 5)) for place in range(count)}


def dense_alignments(grams: list[Floats], debiased: bool) -> Floats:
    return np.array([[kp.centered_alignment(a, b, debiased) for b in grams] for a in grams])


KERNELS: list[dict[str, Any] | None] = [
    None,
    {"family": "gaussian", "gamma": "median"},
    {"family": "laplacian", "gamma": 0.1},
    {"family": "polynomial", "degree": 2, "coef0": 1.0},
]


def gram(view: Floats, kernel: dict[str, Any] | None) -> Floats:
    """Compute one of the kernels above with scikit-learn."""
    from scipy.spatial.distance import pdist
    from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel

    if kernel is None:
        return np.asarray(linear_kernel(view))
    if kernel["family"] == "gaussian":
        return np.asarray(rbf_kernel(view, gamma=0.5 / np.median(pdist(view)) ** 2))
    if kernel["family"] == "laplacian":
        return np.asarray(laplacian_kernel(view, gamma=0.1))
    return np.asarray(polynomial_kernel(view, degree=2, coef0=1.0))


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "gaussian", "laplacian", "polynomial"])
def test_tiles_give_the_dense_alignments(kernel: dict[str, Any] | None, debiased: bool) -> None:
    given = views()
    expected = dense_alignments([gram(view, kernel) for view in given.values()], debiased)
    for tile_size in (300, 128, 37):
        found = kp.kernel_similarity(given, kernel=kernel, debiased=debiased, tile_size=tile_size)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_files_are_read_by_tiles(tmp_path: Path) -> None:
    given = views()
    expected = kp.kernel_similarity(given, tile_size=64)
    paths: dict[str, Any] = {}
    for name, view in given.items():
        np.save(tmp_path / f"{name}.npy", view)
        paths[name] = tmp_path / f"{name}.npy"
    stored = zarr.create_array(tmp_path / "v0.zarr", shape=(300, 5), chunks=(64, 5), dtype="float64")
    stored[...] = given["v0"]
    paths["v0"] = tmp_path / "v0.zarr"
    paths["v1"] = np.load(paths["v1"], mmap_mode="r")
    paths["v2"] = pd.DataFrame(given["v2"])
    pd.testing.assert_frame_equal(kp.kernel_similarity(paths, tile_size=64), expected)
    K = given["v3"] @ given["v3"].T
    np.save(tmp_path / "K.npy", np.asfortranarray(K))
    matrix = tmp_path / "K.npy"
    found = kp.kernel_similarity({"v0": paths["v0"]}, precomputed={"K": matrix}, tile_size=64)
    np.testing.assert_allclose(found.to_numpy()[0, 1], expected.to_numpy()[0, 3], atol=1e-12)


@pytest.mark.filterwarnings("ignore:Port 8787")  # Dask warns if another program uses the port
def test_workers_give_the_same_numbers(tmp_path: Path) -> None:
    given: dict[str, Any] = dict(views())
    expected = kp.kernel_similarity(given, tile_size=50)
    np.save(tmp_path / "v3.npy", given["v3"])
    given["v3"] = tmp_path / "v3.npy"
    local = LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None)
    with local as cluster, Client(cluster) as client:
        found = kp.kernel_similarity(given, tile_size=50, client=client)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_memory_is_limited_by_tiles(tmp_path: Path) -> None:
    """Views of 48 MB with Gram matrices of 96 MB are compared without holding all of them in memory."""
    rng = np.random.default_rng(9)
    for name in ("a", "b", "c"):
        np.save(tmp_path / f"{name}.npy", rng.normal(size=(2000, 1000)))
    paths = {path.stem: path for path in tmp_path.glob("*.npy")}
    tracemalloc.start()
    kp.kernel_similarity(paths, tile_size=100)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    spans, means = 3 * 2 * 100 * 1000 * 8, 4096 * 1000 * 8
    assert peak < 4 * spans + 2 * means


def test_debiased_values_of_independent_views_are_around_zero() -> None:
    rng = np.random.default_rng(10)
    given = {f"view {place}": rng.normal(size=(400, 30)) for place in range(5)}
    off = ~np.eye(5, dtype=bool)
    for kernel in KERNELS[:2]:
        assert np.abs(kp.kernel_similarity(given, kernel=kernel, tile_size=150).to_numpy()[off]).max() < 0.02


def test_wrong_views_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match=r"views\['a'\]: contains NaN or infinity"):
        kp.kernel_similarity({"a": tmp_path / "a.npy"})
    with pytest.raises(ValueError, match="must be an array, or a file that ends in"):
        kp.kernel_similarity({"a": "a.txt"})
    with pytest.raises(ValueError, match="tile_size: must be a positive integer"):
        kp.kernel_similarity({"a": np.eye(5)}, tile_size=0)
    with pytest.raises(ValueError, match="must be finite and symmetric"):
        kp.kernel_similarity({"a": np.eye(5)}, precomputed={"K": np.triu(np.ones((5, 5)))})


def command(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["similarity", *map(str, arguments)])


def test_the_command_writes_a_table_and_a_heat_map(tmp_path: Path) -> None:
    given = views(60)
    np.save(tmp_path / "v0.npy", given["v0"])
    pd.DataFrame(given["v1"]).to_csv(tmp_path / "v1.csv", index=False)
    pd.DataFrame(given["v2"]).add_prefix("x").to_parquet(tmp_path / "v2.parquet")
    pd.DataFrame(given["v3"]).add_prefix("x").to_feather(tmp_path / "v3.feather")
    files = [tmp_path / name for name in ("v0.npy", "v1.csv", "v2.parquet", "v3.feather")]
    result = command(*files, "--out", tmp_path / "out", "--kernel", '{ family = "gaussian", gamma = 0.1 }')
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "out/similarity.csv", index_col="view")
    expected = kp.kernel_similarity(dict(list(given.items())[:4]), kernel={"family": "gaussian", "gamma": 0.1})
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert list(found.index) == list(found.columns) == ["v0", "v1", "v2", "v3"]
    assert (tmp_path / "out/similarity.svg").read_text().startswith("<?xml")
    assert (tmp_path / "out/similarity.png").stat().st_size > 1000
    shown = pd.read_fwf(io.StringIO(result.stdout), index_col=0)
    np.testing.assert_allclose(shown, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.npy", "absent.npy"], "absent.npy does not exist"),
        (
            ["a.npy", "text.csv"],
            "column 'b' contains text: 'x' in data row 1, but a view consists of columns of numbers",
        ),
        (["a.npy", "other.txt"], "has an unknown extension"),
        (["a.npy", "short.npy"], "must have the same number of samples; a has 6, short has 5"),
        (["a.npy", "a.npy"], "the names without extension must differ; got a.npy, a.npy"),
        (["a.npy", "b.npy", "--kernel", "gauss"], "must be one of"),
        (["a.npy", "b.npy", "--kernel", "{ family"], "is not a TOML table"),
        (["a.npy", "flat.npy"], "flat.npy: must be a matrix"),
        (["a.npy", "empty.npy"], "cannot read empty.npy"),
        (["a.npy", "gap.npy"], "gap.npy: contains NaN or infinity, first the value nan at [4, 2], counted from 0"),
        (["a.npy"], "got only a.npy; give at least two files"),
    ],
)
def test_wrong_files_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(6))
    np.save("b.npy", np.eye(6))
    np.save("gap.npy", np.where(np.arange(36).reshape(6, 6) == 26, np.nan, 1.0))
    Path("empty.npy").write_bytes(b"")
    np.save("short.npy", np.eye(5))
    np.save("flat.npy", np.ones(5))
    Path("text.csv").write_text("a,b\n1,x\n2,y\n")
    Path("other.txt").write_text("1\n")
    before = listing(tmp_path)
    result = command(*arguments, "--out", "out")
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert listing(tmp_path) == before


def test_views_that_are_not_named_are_refused() -> None:
    with pytest.raises(ValueError, match="views: must be a dict of matrices by name; got a list"):
        kp.kernel_similarity([np.eye(5)])  # type: ignore[arg-type]
