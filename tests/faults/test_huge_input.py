"""Input that needs too much memory, or that a library cannot handle, is refused before any work starts."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.profiles import find_profile
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.errors import DataError
from tests.faults.harness import command
from tests.helpers.build import PROJECT, config_values, put, synthetic_values

pytestmark = pytest.mark.faults

RANK_ONE = [{"family": "rank-one"}]
LARGEST_INDEX = 2_000_000_000
HUGE_INDEX = "".join(f"{i % 2} 1:{i} {LARGEST_INDEX}:{i % 7}\n" for i in range(30))
GIGABYTE = 1 << 30
# Loads a libsvm file in a process that cannot allocate an array as long as the largest index.
LIMITED = f"""
import resource, sys
from pathlib import Path
from kernel_pipeline.config.loading import read_config
from kernel_pipeline.data.prepared import prepare_dataset
resource.setrlimit(resource.RLIMIT_AS, ({4 * GIGABYTE},) * 2)
config, folder = read_config(sys.argv[1])
samples = prepare_dataset(config, config.dataset[0], folder)
print(samples.features.shape, samples.kernels)
"""


def planned(folder: Path, values: dict[str, Any]) -> tuple[int, str]:
    """Return the exit code and the output of `pipeline plan`."""
    (folder / "huge.toml").write_text(tomli_w.dumps(values))
    done = command("plan", folder / "huge.toml")
    assert "Traceback" not in done.output
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("kernels", "names"),
    [(RANK_ONE, ("0", "1999999999")), ([{"family": "gaussian", "log2_gamma": [-1, 0]}], ("2^-1", "2^0"))],
    ids=["rank-one", "gaussian"],
)
def test_only_non_empty_columns_of_a_libsvm_file_are_kept(
    tmp_path: Path, kernels: list[dict[str, Any]], names: tuple[str, ...]
) -> None:
    put(tmp_path, HUGE_INDEX, "huge.libsvm")
    values = config_values(path="huge.libsvm", format="libsvm", kernels=kernels)
    (tmp_path / "huge.toml").write_text(tomli_w.dumps(values))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "huge.toml")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "(30, 2)" in done.stdout
    if kernels == RANK_ONE:
        assert str(names) in done.stdout


def test_a_column_of_a_libsvm_file_is_dropped_by_its_own_number(tmp_path: Path) -> None:
    put(tmp_path, "".join(f"{i % 2} 2:{i} 5:{i % 3} 9:{i % 4}\n" for i in range(9)), "few.libsvm")
    values = config_values(path="few.libsvm", format="libsvm", drop=[4, 6])
    config = parse_config(values, "the test")
    samples = prepare_dataset(config, config.dataset[0], tmp_path)
    assert samples.features.shape == (9, 2)
    features = np.asarray(samples.features)
    np.testing.assert_array_equal(features[:, 0], samples.order)
    np.testing.assert_array_equal(features[:, 1], samples.order % 4)


def test_the_columns_of_a_libsvm_file_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.data.formats.libsvm.MAX_COLUMNS", 1)
    put(tmp_path, HUGE_INDEX, "huge.libsvm")
    values = config_values(path="huge.libsvm", format="libsvm", kernels=RANK_ONE)
    config = parse_config(values, "the test")
    with pytest.raises(DataError, match="has 2 columns that are not empty; at most 1 are allowed"):
        prepare_dataset(config, config.dataset[0], tmp_path)


@pytest.mark.parametrize(
    ("dataset", "words"),
    [
        ({"rows": 2_000_000_000}, ["2,000,000,000 rows", "5 features"]),
        ({"features": 1_000_000_000, "rows": 1000}, ["1,000 rows", "1,000,000,000 features"]),
    ],
    ids=["rows", "features"],
)
def test_table_that_does_not_fit_into_memory_is_refused_before_it_is_created(
    tmp_path: Path, dataset: dict[str, Any], words: list[str]
) -> None:
    code, output = planned(tmp_path, synthetic_values(**dataset))
    assert code == 2, output
    assert output.startswith("Error: dataset 'made': ")
    for word in (*words, "this machine has", "fewer"):
        assert word in output


@pytest.mark.parametrize("seed", [2**32, 2**64 + 5, 10**40])
def test_synthetic_source_accepts_any_seed(tmp_path: Path, seed: int) -> None:
    values = synthetic_values() | {"seed": seed}
    loaded = []
    for value in (values, values, values | {"seed": seed + 1}):
        config = parse_config(value, "the test")
        loaded.append(prepare_dataset(config, config.dataset[0], tmp_path).fingerprint)
    assert loaded[0] == loaded[1]
    assert loaded[0] != loaded[2]


def test_seeds_within_the_range_of_numpy_give_unchanged_data(tmp_path: Path) -> None:
    from sklearn.datasets import make_friedman1

    config = parse_config(synthetic_values() | {"seed": 2**32 - 1}, "the test")
    samples = prepare_dataset(config, config.dataset[0], tmp_path)
    features, _ = make_friedman1(10, 5, noise=1.0, random_state=2**32 - 1)
    np.testing.assert_array_equal(samples.features, features[samples.order])


@pytest.mark.timeout(60)
def test_tiles_are_counted_before_they_are_listed(tmp_path: Path) -> None:
    code, output = planned(tmp_path, synthetic_values(rows=20_000) | {"storage": {"tile": 1}})
    assert code == 2, output
    assert "dataset 'made': [storage] tile = 1 divides 20,000 rows into 200,010,000 tiles" in output
    assert "Set tile = 25 or more" in output


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 5000 + "]" * 5000, "a" + ".a" * 5000 + " = 1", "x = " + "{a = " * 2000 + "1" + "}" * 2000],
    ids=["lists", "dotted keys", "tables"],
)
def test_too_deeply_nested_toml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "deep.toml").write_text(text)
    done = command("plan", tmp_path / "deep.toml")
    assert done.exit_code == 2, repr(done.exception)
    assert "deep.toml is not valid TOML: it has more than 50 nested levels" in done.output
    setting = command("plan", "default", "--set", text.replace(" = ", "=", 1))
    assert setting.exit_code == 2, repr(setting.exception)
    assert "more than 50 nested levels" in setting.output
    with pytest.raises(Exception, match=r"deep\.toml is not valid TOML: it has more than 50 nested levels") as caught:
        find_profile(str(tmp_path / "deep.toml"))
    assert type(caught.value).__name__ == "ProfileError"
