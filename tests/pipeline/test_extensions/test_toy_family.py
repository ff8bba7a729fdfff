"""A kernel family that is registered from this folder, in a sweep with a built-in one."""

import copy
import json
import pickle
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics.pairwise import rbf_kernel

from kernel_pipeline.cli.main import main
from kernel_pipeline.config.loading import config_digest, parse_config, to_toml
from kernel_pipeline.errors import ConfigError
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.family import FAMILIES
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from tests.helpers.build import parsed, put_config, synthetic_values
from tests.pipeline.test_extensions.registering import registered
from tests.pipeline.test_extensions.toy_family import ToyFamily

TOY = {"family": "toy-polynomial", "degrees": [1, 2, 3], "scale": 0.5}
# The Gaussian families are not adjacent, but are computed together.
MIXED: list[dict[str, Any]] = [
    {"family": "gaussian", "log2_gamma": [-3, -2]},
    TOY,
    {"family": "gaussian", "log2_gamma": [0, 0]},
]
NAMES = ["gaussian(2^-3)", "gaussian(2^-2)", *(f"toy-polynomial({degree})" for degree in (1, 2, 3)), "gaussian(2^0)"]
SHIFTS = [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]
BUILT_IN = ", ".join(map(repr, FAMILIES))
METHODS = ["unif", "alignf", "l2-krr", "each-kernel"]
FOLDS = 3


class OtherFamily(ToyFamily):
    """A family with the same parameters."""


@pytest.fixture(scope="module", autouse=True)
def _registered() -> Iterator[None]:
    with registered(FAMILIES, "toy-polynomial", ToyFamily):
        yield


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, _registered: None) -> Path:
    """Return the directory of a finished run of the mixed families."""
    folder = tmp_path_factory.mktemp("sweep")
    config = put_config(
        folder, synthetic_values(rows=40, kernels=MIXED) | {"methods": METHODS, "storage": {"tile": 16}}
    )
    done = CliRunner().invoke(main, ["run", str(config), "--cluster", "threads", "--out", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture(scope="module")
def grams(root: Path) -> Floats:
    """Return all kernels, (p, m, m), computed from the stored features."""
    features = RunStore(LocalStorage(root)).read(DATA, "made/features")
    products = 0.5 * features @ features.T + 1.0
    gaussian = [rbf_kernel(features, gamma=2.0**exponent) for exponent in (-3, -2, 0)]
    return np.array([*gaussian[:2], *(products**degree for degree in (1, 2, 3)), gaussian[2]])


def centered(kernels: Floats) -> Floats:
    """Return the kernels centered on their samples, (p, n, n)."""
    n = kernels.shape[-1]
    center = np.eye(n) - 1.0 / n
    return np.asarray(center @ kernels @ center)


def test_the_gram_matrices_are_stored_in_the_order_of_the_config_with_their_shifts(root: Path, grams: Floats) -> None:
    stored = RunStore(LocalStorage(root)).array(GRAM, "made/gram")
    assert stored.attrs["kernels"] == NAMES
    assert stored.attrs["shift"] == SHIFTS
    upper = np.triu_indices(40)
    for k, gram in enumerate(grams):
        np.testing.assert_allclose((np.asarray(stored[k]) + SHIFTS[k])[upper], gram[upper], rtol=1e-11)


@pytest.mark.parametrize("trial", range(FOLDS))
def test_alignments_and_bounds_of_each_kernel_equal_those_of_whole_matrices(
    root: Path, grams: Floats, trial: int
) -> None:
    store = RunStore(LocalStorage(root))
    inside = np.isin(store.read(GRAM, "made/fold"), trials(FOLDS)[trial].train)
    y = store.read(DATA, "made/targets")[inside, 0]
    yc, n = y - y.mean(), int(inside.sum())
    raw = grams[:, inside][:, :, inside]
    inner = centered(raw)
    norms, raw_norms = np.linalg.norm(inner, axis=(1, 2)), np.linalg.norm(raw, axis=(1, 2))
    diagonal = np.diagonal(raw, axis1=1, axis2=2).max(axis=1)
    table = pd.read_csv(root / "results/kernels.csv").query(f"trial == {trial}").set_index("kernel").loc[NAMES]
    np.testing.assert_allclose(table["alignment_train"], (inner @ yc @ yc) / (norms * (yc @ yc)), rtol=1e-9)
    np.testing.assert_allclose(table["uncentered_alignment_train"], (raw @ y @ y) / (raw_norms * (y @ y)), rtol=1e-9)
    np.testing.assert_allclose(store.read(STATISTICS, "made/regression/diagonal", trial), diagonal, rtol=1e-12)
    # Theorem 12 with R^2 = max K(x, x) on the training set, for the kernel and for the labels.
    squares = yc**2
    ratio = np.maximum(diagonal**2 / np.mean(inner**2, axis=(1, 2)), (squares.max() / squares.mean()) ** 2)
    bound = 18 * ratio * (3 / n + 8 * np.sqrt(np.log(6 / 0.05) / (2 * n)))
    np.testing.assert_allclose(store.read(STATISTICS, "made/regression/theorem12", trial), bound, rtol=1e-9)


def test_the_bound_on_the_error_uses_the_largest_diagonal_of_any_kernel(root: Path, grams: Floats) -> None:
    store = RunStore(LocalStorage(root))
    rows = pd.read_csv(root / "results/rows.csv").query("method == 'unif'").set_index("trial")
    bounds = pd.read_csv(root / "results/bounds.csv").query("method == 'unif'").set_index("trial")
    path = pd.read_csv(root / "results/path.csv").query("method == 'unif'")
    for trial in range(FOLDS):
        inside = np.isin(store.read(GRAM, "made/fold"), trials(FOLDS)[trial].train)
        y = store.read(DATA, "made/targets")[inside, 0]
        raw, n = grams[:, inside][:, :, inside], int(inside.sum())
        largest = (4 * np.diagonal(raw, axis1=1, axis2=2).max(axis=1) / np.trace(centered(raw), axis1=1, axis2=2)).max()
        ridge = float(rows["regularisation"][trial])
        error = path[(path["trial"] == trial) & (path["regularisation"] == ridge)]["train_error"].item()
        lambda0, label = ridge / n, np.abs(y - y.mean()).max()
        m1 = 2 * (1 + np.sqrt(largest / lambda0)) * label
        m2 = 2 * largest / lambda0 * (1 + 1 / lambda0) * label
        spread = np.sqrt(np.log(1 / 0.05) / (2 * n))
        expected = np.sqrt(error**2 + 2 * m1 * m2 / n + (1 + 16 * m2 / m1) * m1 * m2 / 4 * spread)
        assert bounds["theorem17_evaluated"][trial] == pytest.approx(expected, rel=1e-6)


def test_every_cell_has_a_result_and_the_run_is_accepted(root: Path) -> None:
    rows = pd.read_csv(root / "results/rows.csv")
    assert set(rows["method"]) == set(METHODS) - {"each-kernel"}
    assert (rows["status"] == "ok").all()
    assert pd.read_csv(root / "results/kernels.csv")["error"].notna().all()
    assert CliRunner().invoke(main, ["verify", str(root)]).exit_code == 0
    assert tomllib.loads((root / "config.toml").read_text())["dataset"][0]["kernels"] == MIXED


def test_identities_depend_on_the_parameters_of_families() -> None:
    def task(*families: Any) -> Task:
        return TilesTask(dataset="made", fingerprint="f", tile_size=4, families=families, number=0, tiles=((0, 0),))

    toy = ToyFamily((1, 2), 0.5)
    same_fields = OtherFamily((1, 2), 0.5)
    families = [toy, ToyFamily((1, 3), 0.5), ToyFamily((1, 2), 0.25), same_fields, GaussianFamily((1, 2))]
    assert len({task(family).identity for family in families}) == 5
    assert task(toy).identity == pickle.loads(pickle.dumps(task(toy))).identity
    configs = [parsed(synthetic_values(kernels=[TOY | {"scale": scale}])) for scale in (0.5, 1.5)]
    assert len(set(map(config_digest, configs))) == 2


@pytest.mark.parametrize("degrees", [2, [2]])
def test_the_config_reads_the_family_with_its_defaults_and_writes_it_back(degrees: int | list[int]) -> None:
    config = parsed(synthetic_values(kernels=[{"family": "toy-polynomial", "degrees": degrees}]))
    assert config.dataset[0].kernels == [ToyFamily((2,), 0.1)]
    values = tomllib.loads(to_toml(config))
    assert values["dataset"][0]["kernels"] == [{"family": "toy-polynomial", "degrees": [2], "scale": 0.1}]
    assert parsed(values) == config == copy.deepcopy(config)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"degrees": 0}, "degrees: must be greater than or equal to 1; got 0"),
        ({"degrees": []}, "degrees: must have at least 1 item(s); got []"),
        ({"degrees": [0]}, "degrees[0]: must be greater than or equal to 1; got 0"),
        ({"degrees": [1, 7]}, "degrees[1]: must be less than or equal to 6; got 7"),
        ({"degrees": ["1"]}, "degrees[0]: must be a valid integer; got '1'"),
        ({"degrees": [2, 1]}, "degrees: [2, 1] must be ascending\n"),
        ({"scale": -1.5}, "scale: must be greater than or equal to 0; got -1.5"),
        ({"scale": float("nan")}, "scale: must be a finite number; got nan"),
        ({"scale": "1"}, "scale: must be a valid number; got '1'"),
    ],
)
def test_wrong_parameters_are_named_with_what_is_allowed(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(synthetic_values(kernels=[TOY | changes]), "sweep.toml")
    assert f"dataset[0] (made).kernels[0].{expected}" in f"{caught.value}\n"


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ({"family": "toy-polynomial"}, ".degrees: is missing"),
        (TOY | {"degree": 2}, ": unknown key 'degree'; did you mean 'degrees'? Allowed: family, degrees, scale, "),
        ({"family": "poly"}, f".family: must be one of {BUILT_IN}, 'toy-polynomial'; got 'poly'"),
        ({"family": ["toy-polynomial"]}, f".family: must be one of {BUILT_IN}, 'toy-polynomial'; got"),
        ("toy-polynomial", ": must be a table; write { family = \"toy-polynomial\", ... }; got 'toy-polynomial'"),
    ],
)
def test_messages_about_wrong_families_list_the_available_ones(family: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(synthetic_values(kernels=[family]), "sweep.toml")
    assert f"dataset[0] (made).kernels[0]{expected}" in str(caught.value)


def test_the_schema_lists_the_family_and_what_its_parameters_mean() -> None:
    schema = json.loads(CliRunner().invoke(main, ["config", "schema"]).stdout)
    described = schema["$defs"]["ToyFamily"]
    assert described["description"] == "Polynomial kernels (scale x.z + 1)^degree."
    assert described["properties"]["family"]["const"] == "toy-polynomial"
    assert described["properties"]["degrees"]["description"] == "degrees of the kernels"
    number = {"maximum": 6, "minimum": 1, "type": "integer"}
    assert described["properties"]["degrees"]["oneOf"] == [number, {"items": number, "minItems": 1, "type": "array"}]
    assert described["properties"]["scale"]["default"] == 0.1
    assert (described["required"], described["additionalProperties"]) == (["family", "degrees"], False)


def test_two_kernels_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"kernels: 'toy-polynomial\(3\)' is listed more than once"):
        parsed(synthetic_values(kernels=[TOY, {"family": "toy-polynomial", "degrees": [3, 4]}]))


def test_a_family_that_is_no_longer_registered_is_unknown() -> None:
    FAMILIES.unregister("toy-polynomial")
    try:
        with pytest.raises(ConfigError, match=f"must be one of {BUILT_IN}; got 'toy-polynomial'"):
            parsed(synthetic_values(kernels=[TOY]))
        schema = CliRunner().invoke(main, ["config", "schema"]).stdout
    finally:
        FAMILIES.register("toy-polynomial")(ToyFamily)
    assert "toy-polynomial" not in schema
